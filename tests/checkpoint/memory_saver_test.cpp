#include <stategraph/memory_saver.hpp>

#include <doctest/doctest.h>

#include "checkpoint/testing/saver_contract.hpp"

namespace {

struct MemoryFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() { return std::make_unique<stategraph::MemorySaver>(); }
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(MemoryFactory);

namespace stategraph::testing {

TEST_CASE("the memory saver keeps rows of every size as they were") {
    MemorySaver saver;
    std::vector<TestCommit> commits;
    for (unsigned n = 1; n <= 300; ++n) {
        const std::size_t size = n % 7 == 0 ? 70'000 + n : n % 5 == 0 ? 65'536 - 40 + n % 80 : n;
        commits.push_back(makeCommit(n, n - 1, 0, std::string(size, static_cast<char>('a' + n % 26))));
        putOne(saver, {"t"}, n > 1 ? nthId(n - 1) : CheckpointId(), commits.back());
    }
    for (const auto& commit : commits) {
        const auto tuple = saver.getTuple({.log = {"t"}, .checkpoint_id = commit.id});
        REQUIRE(tuple);
        CHECK(tuple->commits.at(0).bytes == commit.bytes);
    }
    CHECK(saver.prune({.keep_last = 100}) == 200);
    CHECK(saver.list({}).at(99).bytes == commits[200].bytes);
}

TEST_CASE("the memory saver refuses a put that breaks the contract and stores nothing of it") {
    MemorySaver saver;
    putLine(saver, {"t"}, 2);
    const auto refuses = [&](const LogName& log, std::initializer_list<CommitRow> rows) {
        CHECK_THROWS_AS(
            saver.put({.log = log, .expected_head = nthId(2), .commits = {rows.begin(), rows.size()}, .writes = {}}),
            InvalidArgumentError);
    };
    const CommitRow good{nthId(3), nthId(2), nthId(3), "bytes"};
    refuses({""}, {good});
    refuses({"t"}, {{nthId(2), {}, nthId(2), "bytes"}});
    refuses({"t"}, {good, {nthId(3), {}, nthId(3), "bytes"}});
    refuses({"t"}, {good, {nthId(4), {}, nthId(5), "bytes"}});
    refuses({"t"}, {good, {nthId(4), {}, {}, "bytes"}});
    refuses({"t"}, {good, {nthId(4), nthId(4), nthId(4), "bytes"}});
    CHECK(listIds(saver, {"t"}) == nthIds({2, 1}));
    CHECK_THROWS_AS(putWrite(saver, {"t"}, nthId(2), {}, "p", "bytes"), InvalidArgumentError);
    CHECK_THROWS_AS(saver.copyThread("t", ""), InvalidArgumentError);
}

TEST_CASE("the memory saver finds every thread while others come and go") {
    MemorySaver saver;
    const auto name = [](unsigned n) { return "thread " + std::to_string(n); };
    const auto isThere = [&](unsigned n) { return n % 3 != 0 || n % 7 == 0; };
    for (unsigned n = 0; n < 20'000; ++n) {
        putLine(saver, {name(n)}, 1);
        if (n % 3 == 0) saver.deleteThread(name(n));
        if (n % 21 == 0) putLine(saver, {name(n)}, 1);
    }
    unsigned wrong = 0;
    std::size_t count = 0;
    for (unsigned n = 0; n < 20'000; ++n) {
        wrong += saver.getTuple({.log = {name(n)}}).has_value() != isThere(n);
        count += isThere(n);
    }
    CHECK(wrong == 0);
    CHECK(saver.list({}).size() == count);
}

TEST_CASE("the memory saver says which head it has when it refuses") {
    MemorySaver saver;
    putLine(saver, {"t", "child"}, 2);
    try {
        putOne(saver, {"t", "child"}, nthId(1), makeCommit(3, 1));
        FAIL("it was stored");
    } catch (const ConcurrentUpdateError& error) {
        CHECK(error.message().find(nthId(2).toString()) != std::string::npos);
        CHECK(error.context().thread_id == "t");
        CHECK(error.context().checkpoint_ns == "child");
    }
}

}  // namespace stategraph::testing
