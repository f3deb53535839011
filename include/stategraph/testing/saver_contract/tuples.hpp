#pragma once
#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Reading one checkpoint: which one is read, from which commits, and the content of its channels.
namespace stategraph::testing {

TEST_CASE_TEMPLATE_DEFINE("an unknown thread is empty and no call on it is an error", Factory, saver_unknown_thread) {
    Factory factory;
    const auto saver = factory.make();
    CHECK_FALSE(saver->getTuple({.log = {"nobody"}}));
    CHECK_FALSE(saver->getTuple({.log = {"nobody"}, .checkpoint_id = nthId(1)}));
    CHECK(saver->list({}).empty());
    CHECK(saver->list({.thread_id = "nobody"}).empty());
    CHECK(saver->prune({.thread_id = "nobody", .keep_last = 1}) == 0);
    CHECK(saver->prune({.keep_last = 1}) == 0);
    CHECK_NOTHROW(saver->deleteThread("nobody"));
    CHECK_NOTHROW(saver->copyThread("nobody", "somebody"));
    CHECK_FALSE(saver->getTuple({.log = {"somebody"}}));
    CHECK_NOTHROW(saver->put({.log = {"nobody"}, .expected_head = {}, .commits = {}, .writes = {}}));
    CHECK(saver->list({.with_writes = true}).empty());
}

TEST_CASE_TEMPLATE_DEFINE("the newest checkpoint below a cursor is found", Factory, saver_before) {
    Factory factory;
    const auto saver = factory.make();
    for (const unsigned n : {2U, 4U, 6U})
        putOne(*saver, {"t"}, n > 2 ? nthId(n - 2) : CheckpointId(), makeCommit(n, n > 2 ? n - 2 : 0));
    putLine(*saver, {"s"}, 1);
    putLine(*saver, {"t", "child"}, 1);
    const auto below = [&](unsigned n) {
        const auto tuple = saver->getTuple({.log = {"t"}, .before = nthId(n)});
        return tuple ? tuple->id : CheckpointId();
    };
    CHECK(below(7) == nthId(6));
    CHECK(below(6) == nthId(4));
    CHECK(below(5) == nthId(4));
    CHECK(below(3) == nthId(2));
    CHECK(below(2).empty());
    CHECK(below(1).empty());
    const auto tuple = saver->getTuple({.log = {"t"}, .before = nthId(6)});
    REQUIRE(tuple);
    CHECK(tuple->head == nthId(6));
    REQUIRE(tuple->next);
    CHECK(tuple->next->id == nthId(6));
}

TEST_CASE_TEMPLATE_DEFINE("reading a checkpoint returns the commits that lead to it from its base", Factory,
                          saver_base_chain) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    // 1 - 2 - 4 - 6 and, from 2, the branch 3 - 5: other branches lie in between.
    const std::vector<TestCommit> commits{makeCommit(1, 0),    makeCommit(2, 1, 1), makeCommit(3, 2, 1),
                                          makeCommit(4, 2, 2), makeCommit(5, 3, 1), makeCommit(6, 4, 2),
                                          makeCommit(7, 5)};
    CheckpointId head;
    for (const auto& commit : commits) {
        putOne(*saver, log, head, commit);
        head = commit.id;
    }
    // Commits of other branches may be included or not.
    const auto check = [&](unsigned n, const std::vector<CheckpointId>& wanted) {
        CAPTURE(n);
        const auto tuple = saver->getTuple({.log = log, .checkpoint_id = nthId(n)});
        REQUIRE(tuple);
        CHECK(tuple->head == nthId(7));
        for (const auto& commit : tuple->commits) {
            const CommitHeader header = readHeader({"t", "", commit.id}, commit.bytes);
            CHECK(header.id == commit.id);
        }
        const std::vector<CheckpointId> found = idsOf(tuple->commits);
        REQUIRE_FALSE(found.empty());
        CHECK(std::is_sorted(found.begin(), found.end()));
        CHECK(std::includes(found.begin(), found.end(), wanted.begin(), wanted.end()));
        CHECK(found.front() == wanted.front());
        CHECK(found.back() == wanted.back());
    };
    check(1, nthIds({1}));
    check(3, nthIds({1, 2, 3}));
    check(4, nthIds({2, 4}));
    check(5, nthIds({1, 2, 3, 5}));
    check(6, nthIds({2, 4, 6}));
    check(7, nthIds({7}));
}

TEST_CASE_TEMPLATE_DEFINE("two branches over one base each read back their own", Factory, saver_branches) {
    using Kind = ChannelChange::Kind;
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    // 1 is a snapshot with all channels; 2 - 4 and 3 - 5 are branches from it, which alternate in the log.
    const std::vector<TestCommit> commits{
        makeCommit({.id = nthId(1),
                    .changes = {{"list", Kind::set, Value::fromCbor(std::string("\x81\x61i"))},
                                {"carried", Kind::set, "from the base"},
                                {"gone", Kind::set, "soon"}}}),
        makeCommit({.id = nthId(2), .parent = nthId(1), .base = nthId(1), .changes = {{"list", Kind::append, "a"}}}),
        makeCommit({.id = nthId(3),
                    .parent = nthId(1),
                    .base = nthId(1),
                    .changes = {{"list", Kind::append, "x"}, {"new", Kind::set, "of the second"}}}),
        makeCommit({.id = nthId(4),
                    .parent = nthId(2),
                    .base = nthId(1),
                    .changes = {{"list", Kind::append, "b"}, {"gone", Kind::clear}}}),
        makeCommit({.id = nthId(5), .parent = nthId(3), .base = nthId(1), .changes = {{"list", Kind::append, "y"}}}),
    };
    CheckpointId head;
    for (const auto& commit : commits) {
        putOne(*saver, log, head, commit);
        head = commit.id;
    }
    putWrite(*saver, log, head, nthId(5), "p", makeTask(nthId(5), false));
    const auto read = [&](unsigned n) {
        const auto tuple = saver->getTuple({.log = log, .checkpoint_id = nthId(n)});
        REQUIRE(tuple);
        std::string text;
        for (const auto& [name, value] : readChannels(log, *tuple)) text += name + ": " + value.toJson() + "\n";
        return text;
    };
    const std::string carried = "carried: \"from the base\"\n";
    const std::string gone = "gone: \"soon\"\n";
    CHECK(read(1) == carried + gone + "list: [\"i\"]\n");
    CHECK(read(2) == carried + gone + "list: [\"i\",\"a\"]\n");
    CHECK(read(4) == carried + "list: [\"i\",\"a\",\"b\"]\n");
    const std::string fresh = "new: \"of the second\"\n";
    CHECK(read(3) == carried + gone + "list: [\"i\",\"x\"]\n" + fresh);
    CHECK(read(5) == carried + gone + "list: [\"i\",\"x\",\"y\"]\n" + fresh);
    const auto newest = saver->getTuple({.log = log});
    REQUIRE(newest);
    CHECK(readChannels(log, *newest).at("list").toJson() == "[\"i\",\"x\",\"y\"]");
}

}  // namespace stategraph::testing
