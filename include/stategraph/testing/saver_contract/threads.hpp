#pragma once
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Whole threads: deleting and copying them.
namespace stategraph::testing {

TEST_CASE_TEMPLATE_DEFINE("deleting a thread removes all of it and nothing else", Factory, saver_delete) {
    Factory factory;
    const auto saver = factory.make();
    for (const LogName log : {LogName{"t"}, LogName{"t", "child"}, LogName{"tt"}, LogName{"s"}}) {
        putLine(*saver, log, 3);
        putWrite(*saver, log, nthId(3), nthId(3), "p", "bytes");
    }
    saver->deleteThread("t");
    CHECK(saver->list({.thread_id = "t", .with_writes = true}).empty());
    CHECK_FALSE(saver->getTuple({.log = {"t"}}));
    CHECK_FALSE(saver->getTuple({.log = {"t", "child"}}));
    for (const LogName log : {LogName{"tt"}, LogName{"s"}}) {
        CHECK(listIds(*saver, log) == nthIds({3, 2, 1}));
        CHECK(saver->getTuple({.log = log})->writes.size() == 1);
    }
    // The thread is as if it had never existed: the same ids may be used again, without the old writes.
    CHECK_THROWS_AS(putOne(*saver, {"t"}, nthId(3), makeCommit(4, 3)), ConcurrentUpdateError);
    putLine(*saver, {"t"}, 3);
    CHECK(saver->getTuple({.log = {"t"}})->writes.empty());
    CHECK_NOTHROW(saver->deleteThread("t"));
    CHECK_NOTHROW(saver->deleteThread("t"));
}

TEST_CASE_TEMPLATE_DEFINE("a commit of a subgraph's log is refused below a checkpoint that the thread does not have",
                          Factory, saver_root) {
    Factory factory;
    const auto saver = factory.make();
    const TestCommit first = makeCommit(1, 0);
    const auto begin = [&](std::string_view ns, CheckpointId root) {
        const CommitRow row{first.id, {}, first.base, first.bytes};
        saver->put({.log = {"t", ns}, .expected_head = {}, .commits = {&row, 1}, .writes = {}, .root = root});
    };
    CHECK_THROWS_AS(begin("a", nthId(2)), ConcurrentUpdateError);
    putLine(*saver, {"t"}, 2);
    begin("a", nthId(2));
    begin("b", nthId(1));
    CHECK_THROWS_AS(begin("c", nthId(3)), ConcurrentUpdateError);
    const TestCommit second = makeCommit(2, 1);
    const CommitRow row{second.id, first.id, second.base, second.bytes};
    const auto goOn = [&](CheckpointId root) {
        saver->put({.log = {"t", "a"}, .expected_head = first.id, .commits = {&row, 1}, .writes = {}, .root = root});
    };
    CHECK_THROWS_AS(goOn(nthId(3)), ConcurrentUpdateError);
    goOn(nthId(1));
    saver->deleteThread("t");
    CHECK_THROWS_AS(begin("a", nthId(2)), ConcurrentUpdateError);
    CHECK(saver->list({.thread_id = "t"}).empty());
}

TEST_CASE_TEMPLATE_DEFINE("a thread that is deleted while logs of subgraphs begin in it is empty", Factory,
                          saver_delete_race) {
    Factory factory;
    const auto saver = factory.make();
    const TestCommit first = makeCommit(1, 0);
    for (int round = 0; round < 5; ++round) {
        CAPTURE(round);
        putLine(*saver, {"t"}, 1);
        std::thread writer([&] {
            for (int i = 0; i < 10; ++i) {
                const std::string ns = "n" + std::to_string(i);
                const CommitRow row{first.id, {}, first.base, first.bytes};
                try {
                    saver->put(
                        {.log = {"t", ns}, .expected_head = {}, .commits = {&row, 1}, .writes = {}, .root = nthId(1)});
                } catch (const ConcurrentUpdateError&) {
                    return;
                }
            }
        });
        saver->deleteThread("t");
        writer.join();
        CHECK(saver->list({.thread_id = "t"}).empty());
    }
}

TEST_CASE_TEMPLATE_DEFINE("a copied thread has all of the source, which stays as it was", Factory, saver_copy) {
    Factory factory;
    const auto saver = factory.make();
    for (const LogName log : {LogName{"t"}, LogName{"t", "child"}}) {
        putLine(*saver, log, 4, true);
        putWrite(*saver, log, nthId(4), nthId(3), "p", "bytes");
    }
    saver->copyThread("t", "copy, with a longer name");
    const auto source = saver->list({.thread_id = "t", .with_writes = true});
    const auto copy = saver->list({.thread_id = "copy, with a longer name", .with_writes = true});
    REQUIRE(source.size() == 8);
    REQUIRE(copy.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(copy[i].checkpoint_ns == source[i].checkpoint_ns);
        CHECK(copy[i].id == source[i].id);
        CHECK(copy[i].bytes == source[i].bytes);
        REQUIRE(copy[i].writes.size() == source[i].writes.size());
        CHECK(copy[i].writes.size() == (copy[i].id == nthId(3) ? 1 : 0));
    }
    CHECK(idsOf(saver->getTuple({.log = {"copy, with a longer name", "child"}})->commits) == nthIds({1, 2, 3, 4}));

    // Both continue independently.
    putOne(*saver, {"copy, with a longer name"}, nthId(4), makeCommit(5, 4));
    CHECK(headOf(*saver, {"t"}) == nthId(4));
    putOne(*saver, {"t"}, nthId(4), makeCommit(6, 4));
    CHECK(headOf(*saver, {"copy, with a longer name"}) == nthId(5));

    CHECK_THROWS_AS(saver->copyThread("t", "copy, with a longer name"), InvalidArgumentError);
    CHECK_THROWS_AS(saver->copyThread("t", "t"), InvalidArgumentError);
    saver->deleteThread("t");
    CHECK(headOf(*saver, {"copy, with a longer name"}) == nthId(5));
    CHECK_NOTHROW(saver->copyThread("copy, with a longer name", "t"));
    CHECK(headOf(*saver, {"t"}) == nthId(5));
}

}  // namespace stategraph::testing
