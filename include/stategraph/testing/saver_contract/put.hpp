#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Commits are stored unchanged and kept apart by their names, or refused.
namespace stategraph::testing {

TEST_CASE_TEMPLATE_DEFINE("a commit is read back as it was put, in the root and in child namespaces", Factory,
                          saver_round_trip) {
    Factory factory;
    const auto saver = factory.make();
    for (const LogName log : {LogName{"t"}, LogName{"t", "child:abc"}, LogName{"t", "child:abc|grandchild:def"}}) {
        const TestCommit first = makeCommit(1, 0);
        const TestCommit second = makeCommit(2, 1, 0, std::string(100'000, 'x'));
        putOne(*saver, log, {}, first);
        putOne(*saver, log, first.id, second, true);

        const auto newest = saver->getTuple({.log = log});
        REQUIRE(newest);
        CHECK(newest->id == second.id);
        CHECK(newest->head == second.id);
        REQUIRE(newest->commits.size() == 1);
        CHECK(newest->commits[0].bytes == second.bytes);
        CHECK_FALSE(newest->next);
        CHECK(newest->writes.empty());

        const auto oldest = saver->getTuple({.log = log, .checkpoint_id = first.id});
        REQUIRE(oldest);
        CHECK(oldest->id == first.id);
        CHECK(oldest->head == second.id);
        REQUIRE(oldest->commits.size() == 1);
        CHECK(oldest->commits[0].bytes == first.bytes);
        REQUIRE(oldest->next);
        CHECK(oldest->next->id == second.id);
        CHECK(oldest->next->bytes == second.bytes);
        CHECK_FALSE(saver->getTuple({.log = log, .checkpoint_id = nthId(3)}));
        CHECK_FALSE(saver->getTuple({.log = log, .checkpoint_id = nthId(0)}));
    }
}

TEST_CASE_TEMPLATE_DEFINE("bytes are kept whatever they are, and a header says what was put", Factory, saver_bytes) {
    Factory factory;
    const auto saver = factory.make();
    std::string every_byte(1, '\0');
    for (int byte = 255; byte >= 0; --byte) every_byte.push_back(static_cast<char>(byte));
    const TestCommit commit = makeCommit({.id = nthId(1),
                                          .step = -1,
                                          .source = Source::input,
                                          .next = {"first", "second"},
                                          .metadata = Value::fromCbor("\xA1\x66run_id\x62me"),
                                          .changes = {{.channel = "text", .value = Value(every_byte)}}});
    putOne(*saver, {"t"}, {}, commit);
    const std::string task = makeTaskRecord({.id = nthId(1), .state = TaskState::failed}) + every_byte;
    putWrite(*saver, {"t"}, nthId(1), nthId(1), every_byte, task);
    putWrite(*saver, {"t"}, nthId(1), nthId(1), "empty", "");

    const auto tuple = saver->getTuple({.log = {"t"}});
    REQUIRE(tuple);
    REQUIRE(tuple->commits.size() == 1);
    CHECK(tuple->commits[0].bytes == commit.bytes);
    REQUIRE(tuple->writes.size() == 2);
    CHECK(tuple->writes[0].path == every_byte);
    CHECK(tuple->writes[0].bytes == task);
    CHECK(tuple->writes[1].bytes.empty());
    const CommitHeader header = readHeader({"t", "", tuple->id}, tuple->commits[0].bytes);
    CHECK(header.parent.empty());
    CHECK(header.step == -1);
    CHECK((header.source == Source::input));
    CHECK(header.next == std::vector<std::string>{"first", "second"});
    CHECK(header.metadata == "\xA1\x66run_id\x62me");
}

TEST_CASE_TEMPLATE_DEFINE("several commits and pending writes are stored by one put", Factory, saver_batch) {
    Factory factory;
    const auto saver = factory.make();
    const std::vector<TestCommit> commits{makeCommit(1, 0), makeCommit(2, 1, 1), makeCommit(3, 2, 1)};
    std::vector<CommitRow> rows;
    for (const auto& commit : commits) rows.push_back(commit.row());
    const std::string task = makeTask(nthId(2), false);
    const std::vector<WriteRow> writes{{nthId(2), "b", task}, {nthId(2), "a", task}, {nthId(3), "c", task}};
    saver->put({.log = {"t"}, .expected_head = {}, .commits = rows, .writes = writes, .sync = true});
    CHECK(listIds(*saver, {"t"}) == nthIds({3, 2, 1}));
    const auto second = saver->getTuple({.log = {"t"}, .checkpoint_id = nthId(2)});
    REQUIRE(second);
    CHECK(idsOf(second->commits) == nthIds({1, 2}));
    REQUIRE(second->writes.size() == 2);
    CHECK(second->writes[0].path == "a");
    CHECK(second->writes[1].path == "b");
    CHECK(second->writes[1].bytes == task);
    CHECK(saver->getTuple({.log = {"t"}})->writes.size() == 1);
}

TEST_CASE_TEMPLATE_DEFINE("names with odd bytes are kept apart", Factory, saver_odd_names) {
    Factory factory;
    const auto saver = factory.make();
    std::vector<std::string> namespaces = oddNames();
    namespaces.push_back("");
    const auto nameOf = [](std::size_t t, std::size_t n) {
        return "value " + std::to_string(t) + " " + std::to_string(n);
    };
    const std::vector<std::string> threads = oddNames();
    for (std::size_t t = 0; t < threads.size(); ++t) {
        for (std::size_t n = 0; n < namespaces.size(); ++n) {
            const LogName log{threads[t], namespaces[n]};
            putOne(*saver, log, {}, makeCommit(1, 0, 0, nameOf(t, n)));
            putWrite(*saver, log, nthId(1), nthId(1), namespaces[n], nameOf(t, n));
        }
    }
    for (std::size_t t = 0; t < threads.size(); ++t) {
        for (std::size_t n = 0; n < namespaces.size(); ++n) {
            const auto tuple = saver->getTuple({.log = {threads[t], namespaces[n]}});
            REQUIRE(tuple);
            REQUIRE(tuple->commits.size() == 1);
            CHECK(tuple->commits[0].bytes == makeCommit(1, 0, 0, nameOf(t, n)).bytes);
            REQUIRE(tuple->writes.size() == 1);
            CHECK(tuple->writes[0].path == namespaces[n]);
            CHECK(tuple->writes[0].bytes == nameOf(t, n));
            CHECK_FALSE(tuple->next);
        }
        CHECK(saver->list({.thread_id = threads[t]}).size() == namespaces.size());
    }
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& row : saver->list({})) seen.emplace(row.thread_id, row.checkpoint_ns);
    CHECK(seen.size() == threads.size() * namespaces.size());
    for (const auto& ns : namespaces) CHECK(saver->list({.checkpoint_ns = ns}).size() == threads.size());

    // Each thread is deleted by itself.
    std::size_t left = threads.size();
    for (const auto& thread_id : threads) {
        saver->deleteThread(thread_id);
        CHECK(saver->list({.thread_id = thread_id}).empty());
        CHECK(saver->list({.checkpoint_ns = ""}).size() == --left);
    }
}

TEST_CASE_TEMPLATE_DEFINE("a put that breaks the contract is refused and nothing of it is stored", Factory,
                          saver_refusals) {
    Factory factory;
    const auto saver = factory.make();
    putLine(*saver, {"t"}, 2);
    const auto refuses = [&](const LogName& log, const std::vector<CommitRow>& rows) {
        CHECK_THROWS_AS(saver->put({.log = log, .expected_head = nthId(2), .commits = rows, .writes = {}}),
                        InvalidArgumentError);
    };
    const CommitRow good{nthId(3), nthId(2), nthId(3), "bytes"};
    refuses({""}, {good});
    refuses({"t"}, {{nthId(2), {}, nthId(2), "bytes"}});
    refuses({"t"}, {good, {nthId(3), {}, nthId(3), "bytes"}});
    refuses({"t"}, {good, {nthId(4), {}, nthId(5), "bytes"}});
    refuses({"t"}, {good, {nthId(4), {}, {}, "bytes"}});
    refuses({"t"}, {good, {nthId(4), nthId(4), nthId(4), "bytes"}});
    CHECK_THROWS_AS(putWrite(*saver, {"t"}, nthId(2), {}, "p", "bytes"), InvalidArgumentError);
    CHECK_THROWS_AS(putWrite(*saver, {""}, {}, nthId(2), "p", "bytes"), InvalidArgumentError);
    CHECK_THROWS_AS(saver->copyThread("t", ""), InvalidArgumentError);
    CHECK(listIds(*saver, {"t"}) == nthIds({2, 1}));
    CHECK(writesOf(*saver, {"t"}, 2).empty());
}

}  // namespace stategraph::testing
