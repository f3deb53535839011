// NOT WITH: sanitize=thread
#include <algorithm>
#include <chrono>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "storage/saver/prune_rules.hpp"
#include "tests/support/seed.hpp"

namespace stategraph::testing {
namespace {

using checkpoint::CommitLinks;
using checkpoint::droppable;

CommitLinks link(unsigned n, unsigned parent, unsigned base) {
    return {nthId(n), parent ? nthId(parent) : CheckpointId(), nthId(base)};
}

const std::vector<CommitLinks> line{link(1, 0, 1), link(2, 1, 1), link(3, 2, 3), link(4, 3, 3), link(5, 4, 3)};

}  // namespace

TEST_CASE("a prune that says nothing, or keeps nothing, is an error") {
    CHECK_THROWS_AS(droppable(line, {}, {}), InvalidArgumentError);
    CHECK_THROWS_AS(droppable(line, {}, {.keep_last = 0}), InvalidArgumentError);
    CHECK_THROWS_AS(droppable({}, {}, {.keep_last = 0}), InvalidArgumentError);
    CHECK(droppable({}, {}, {.keep_last = 1}).empty());
}

TEST_CASE("a prune keeps the newest and what they are read from") {
    CHECK(droppable(line, {}, {.keep_last = 1}) == nthIds({1, 2}));
    CHECK(droppable(line, {}, {.keep_last = 3}) == nthIds({1, 2}));
    CHECK(droppable(line, {}, {.keep_last = 4}).empty());
    CHECK(droppable(line, {}, {.keep_last = 100}).empty());
}

TEST_CASE("a prune by age keeps the young and always the head") {
    const auto at = [](unsigned n) { return nthId(n).time(); };
    CHECK(droppable(line, {}, {.older_than = at(3)}) == nthIds({1, 2}));
    CHECK(droppable(line, {}, {.older_than = at(2)}).empty());
    CHECK(droppable(line, {}, {.older_than = at(99)}) == nthIds({1, 2}));
    CHECK(droppable(line, {}, {.older_than = std::chrono::system_clock::time_point(std::chrono::milliseconds(-1))})
              .empty());
}

TEST_CASE("what one of two rules keeps is kept") {
    const std::vector<CommitLinks> log{link(1, 0, 1), link(2, 1, 2), link(3, 2, 3), link(4, 3, 4)};
    CHECK(droppable(log, {}, {.keep_last = 1, .older_than = nthId(3).time()}) == nthIds({1, 2}));
    CHECK(droppable(log, {}, {.keep_last = 3, .older_than = nthId(99).time()}) == nthIds({1}));
}

TEST_CASE("a prune follows parents through other branches, no further than the base") {
    // 1 - 2 - 5 - 6 and, from 2, 3 - 4; 6 is read from 2.
    const std::vector<CommitLinks> log{link(1, 0, 1), link(2, 1, 1), link(3, 2, 1),
                                       link(4, 3, 1), link(5, 2, 1), link(6, 5, 2)};
    CHECK(droppable(log, {}, {.keep_last = 1}) == nthIds({1, 3, 4}));
    CHECK(droppable(log, {}, {.keep_last = 2}) == nthIds({3, 4}));
}

TEST_CASE("a prune keeps open interrupts and what they are read from") {
    const std::vector<CommitLinks> log{link(1, 0, 1), link(2, 1, 2), link(3, 2, 2), link(4, 2, 4), link(5, 4, 5)};
    const auto open = nthIds({3});
    CHECK(droppable(log, open, {.keep_last = 1}) == nthIds({1, 4}));
    const auto twice_and_unknown = nthIds({4, 9, 3, 3});
    CHECK(droppable(log, twice_and_unknown, {.keep_last = 1}) == nthIds({1}));
}

TEST_CASE("a prune of a log that was pruned before stops where the chain does") {
    const std::vector<CommitLinks> log{link(3, 2, 1), link(4, 3, 3), link(5, 4, 4)};
    CHECK(droppable(log, {}, {.keep_last = 3}).empty());
    CHECK(droppable(log, {}, {.keep_last = 1}) == nthIds({3}));
}

TEST_CASE("a prune that says nothing names all its options") {
    try {
        checkpoint::checkPrune({});
        FAIL("it was taken");
    } catch (const InvalidArgumentError& error) {
        for (const char* const name : {"keep_last", "older_than", "threads_unused_since"}) {
            CHECK(error.message().find(name) != std::string::npos);
        }
    }
    CHECK_NOTHROW(checkpoint::checkPrune({.threads_unused_since = nthId(1).time()}));
    CHECK(droppable(line, {}, {.threads_unused_since = nthId(99).time()}).empty());
}

TEST_CASE("a namespace lives for one task if its first part names one") {
    for (const char* const ns : {"node:1", "node:1|inner", "node:1|inner:2", ":"})
        CHECK(checkpoint::livesForOneTask(ns));
    for (const char* const ns : {"", "node", "node|inner:2", "|:", "node|inner"}) {
        CHECK_FALSE(checkpoint::livesForOneTask(ns));
    }
}

TEST_CASE("a thread without commits counts as used, and one whose root has continued is not held by what it left") {
    const auto since = nthId(10).time();
    const auto never = [] { return false; };
    CHECK(checkpoint::ThreadUse(since).isUsed());
    const auto isUsed = [&](const char* ns, RecordLinks links, unsigned id) {
        checkpoint::ThreadUse use(since);
        use.add("", nthId(5), {.parent = {}, .base = {}, .root = {}, .is_finished = true}, never);
        CHECK_FALSE(use.isUsed());
        use.add(ns, nthId(id), links, [] { return true; });
        return use.isUsed();
    };
    CHECK_FALSE(isUsed("node:1", {.parent = {}, .base = {}, .root = nthId(4), .is_finished = false}, 9));
    CHECK(isUsed("node:1", {.parent = {}, .base = {}, .root = nthId(4), .is_finished = false}, 10));
    CHECK(isUsed("node:1", {.parent = {}, .base = {}, .root = nthId(5), .is_finished = false}, 9));
    CHECK(isUsed("node:1", {.parent = {}, .base = {}, .root = {}, .is_finished = false}, 9));
    CHECK(isUsed("node", {.parent = {}, .base = {}, .root = nthId(4), .is_finished = false}, 9));
    // The root's log has the questions of all logs.
    CHECK_FALSE(isUsed("node", {.parent = {}, .base = {}, .root = nthId(4), .is_finished = true}, 9));
    checkpoint::ThreadUse without_root(since);
    without_root.add("node", nthId(5), {.parent = {}, .base = {}, .root = {}, .is_finished = true},
                     [] { return true; });
    CHECK(without_root.isUsed());
}

TEST_CASE("random logs keep what is wanted, the chains, and nothing else") {
    const unsigned seed = tests::seed();
    MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    const auto upTo = [&](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); };
    const auto numberOf = [](CheckpointId id) {
        return id.empty() ? 0 : static_cast<unsigned>((id.time() - nthId(0).time()) / std::chrono::milliseconds(1));
    };
    for (int round = 0; round < 2000; ++round) {
        const unsigned count = 1 + upTo(30);
        std::vector<CommitLinks> log;
        for (unsigned n = 1; n <= count; ++n) {
            const unsigned parent = n == 1 ? 0 : upTo(3) == 0 ? 1 + upTo(n - 2) : n - 1;
            // A commit is whole, or is read as its parent is.
            const unsigned base = parent == 0 || upTo(3) == 0 ? n : numberOf(log[parent - 1].base);
            log.push_back(link(n, parent, base));
        }
        std::vector<CheckpointId> open;
        if (upTo(1) == 0) open.push_back(nthId(1 + upTo(count - 1)));
        const std::size_t keep = 1 + upTo(5);

        std::map<CheckpointId, bool> expected;  // kept?
        for (std::size_t i = 0; i < log.size(); ++i) {
            const bool wanted = i + keep >= log.size() || std::count(open.begin(), open.end(), log[i].id) > 0;
            expected.emplace(log[i].id, false);
            if (!wanted) continue;
            for (std::size_t at = i;;) {
                expected[log[at].id] = true;
                if (log[at].id <= log[i].base || log[at].parent.empty()) break;
                at = numberOf(log[at].parent) - 1;
            }
        }
        std::vector<CheckpointId> dropped;
        for (const auto& [id, kept] : expected) {
            if (!kept) dropped.push_back(id);
        }
        REQUIRE(droppable(log, open, {.keep_last = keep}) == dropped);
    }
}

}  // namespace stategraph::testing
