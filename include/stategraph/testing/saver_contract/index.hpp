#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// The index of threads, of a saver that keeps one: which threads are open, and which were written to last.
namespace stategraph::testing {

inline void putIndexed(BaseCheckpointSaver& saver, const LogName& log, unsigned n, bool finishes) {
    const TestCommit commit = makeCommit(n, n - 1);
    const CommitRow row = commit.row();
    saver.put({.log = log,
               .expected_head = n > 1 ? nthId(n - 1) : CheckpointId(),
               .commits = {&row, 1},
               .writes = {},
               .leaves_finished = finishes});
}

/// A page of `limit` after the other.
inline std::vector<std::string> openNames(BaseCheckpointSaver& saver, std::size_t limit) {
    std::vector<std::string> names;
    std::optional<std::string> after;
    for (;;) {
        const auto page = saver.openThreads(after, limit);
        REQUIRE(page);
        names.insert(names.end(), page->begin(), page->end());
        if (page->size() < limit) return names;
        after = names.back();
    }
}
inline std::vector<IndexedThread> newestOf(BaseCheckpointSaver& saver, std::optional<bool> is_finished,
                                           std::size_t limit) {
    std::vector<IndexedThread> all;
    NewestThreadsQuery query{.is_finished = is_finished, .before = {}, .limit = limit};
    for (;;) {
        const auto page = saver.newestThreads(query);
        REQUIRE(page);
        all.insert(all.end(), page->begin(), page->end());
        if (page->size() < limit) return all;
        query.before = all.back().place;
    }
}

TEST_CASE_TEMPLATE_DEFINE("an index of threads knows which are open, whatever is done to them", Factory, saver_index) {
    Factory factory;
    auto saver = factory.make();
    if (!saver->countThreads(1)) return;  // it keeps none
    CHECK(saver->openThreads({}, 10)->empty());
    CHECK(saver->newestThreads({})->empty());
    for (const char* name : {"b", "ccc", "a", "dd"}) putIndexed(*saver, {name}, 1, false);
    std::vector<std::string> listed;
    for (const auto& head : saver->list({.checkpoint_ns = "", .heads = true})) listed.push_back(head.thread_id);
    CHECK(openNames(*saver, 10) == listed);
    CHECK(openNames(*saver, 1) == listed);
    CHECK(saver->openThreads({}, 0)->empty());

    putIndexed(*saver, {"a"}, 2, true);
    putWrite(*saver, {"dd"}, nthId(1), nthId(1), "p", "bytes");
    const auto some = saver->list(
        {.checkpoint_ns = "", .heads = true, .with_writes = true, .thread_ids = {"dd", "nobody", "a", "b"}});
    REQUIRE(some.size() == 3);
    CHECK(some[0].thread_id == "dd");
    CHECK(some[0].writes.size() == 1);
    CHECK(some[1].thread_id == "a");
    CHECK(some[1].id == nthId(2));
    CHECK(some[2].thread_id == "b");
    std::erase(listed, "a");
    CHECK(openNames(*saver, 3) == listed);
    auto finished = newestOf(*saver, true, 2);
    REQUIRE(finished.size() == 1);
    CHECK(finished[0].is_finished);
    CHECK(finished[0].place == ThreadPlace{nthId(2), "a"});
    CHECK(newestOf(*saver, {}, 2).size() == 4);

    // What is stored beside a finished checkpoint, or in another namespace.
    putWrite(*saver, {"a"}, nthId(2), nthId(2), "p", "bytes");
    CHECK(openNames(*saver, 10).size() == 4);
    saver->put({.log = {"a"}, .expected_head = nthId(2), .commits = {}, .writes = {}, .leaves_finished = true});
    CHECK(openNames(*saver, 10) == listed);
    putIndexed(*saver, {"a", "child"}, 1, false);
    putIndexed(*saver, {"only a child", "child"}, 1, true);
    putIndexed(*saver, {"b", "child"}, 1, true);
    CHECK(openNames(*saver, 10) == listed);
    CHECK(saver->countThreads(10)->finished == 1);
    CHECK(saver->countThreads(2)->open == 2);
    CHECK(saver->countThreads(10)->open == 3);

    // Who knows another head says nothing of this one.
    CHECK_THROWS_AS(
        saver->put({.log = {"b"}, .expected_head = nthId(7), .commits = {}, .writes = {}, .leaves_finished = true}),
        ConcurrentUpdateError);
    CHECK_THROWS_AS(putIndexed(*saver, {"b"}, 3, true), ConcurrentUpdateError);
    CHECK(openNames(*saver, 10) == listed);

    saver->copyThread("b", "copy of b");
    CHECK(openNames(*saver, 10).size() == 4);
    saver->deleteThread("copy of b");
    saver->deleteThread("a");
    CHECK(newestOf(*saver, true, 5).empty());
    CHECK(openNames(*saver, 10) == listed);
    putIndexed(*saver, {"a"}, 1, true);
    CHECK(newestOf(*saver, {}, 1).size() == 4);
    if constexpr (CanReopen<Factory>) {
        saver.reset();
        saver = factory.reopen();
        CHECK(openNames(*saver, 10) == listed);
        CHECK(newestOf(*saver, true, 5).size() == 1);
        putIndexed(*saver, {"b"}, 2, true);
        CHECK(newestOf(*saver, true, 5).size() == 2);
    }
}

// It is longer than other cases because each kind of call may come after each other, and all are compared at the end.
TEST_CASE_TEMPLATE_DEFINE("an index of threads agrees with what was put, in any order of calls", Factory,
                          saver_index_order) {
    constexpr std::uint64_t seed = 20261124;
    CAPTURE(seed);
    Factory factory;
    const auto saver = factory.make();
    if (!saver->countThreads(1)) return;
    struct Kept {
        unsigned head = 0;
        bool is_finished = false;
    };
    std::map<std::string, Kept> threads;
    std::mt19937_64 random(seed);
    const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
    for (int i = 0; i < 300; ++i) {
        const std::string name = "thread " + std::to_string(pick(12));
        Kept& kept = threads[name];
        switch (pick(8)) {
            case 0:
                saver->deleteThread(name);
                kept = {};
                break;
            case 1:
                if (kept.head == 0) break;
                putWrite(*saver, {name}, nthId(kept.head), nthId(kept.head), "p", "bytes");
                kept.is_finished = false;
                break;
            case 2:
                if (kept.head == 0) break;
                saver->put({.log = {name},
                            .expected_head = nthId(kept.head),
                            .commits = {},
                            .writes = {},
                            .leaves_finished = true});
                kept.is_finished = true;
                break;
            case 3:
                saver->prune({.keep_last = 1});
                break;
            default:
                // Now and then a pause of more than a second.
                const bool finishes = pick(2) == 0;
                const unsigned next = kept.head + 1 + (pick(4) == 0 ? 1500 : 0);
                const TestCommit commit =
                    makeCommit({.id = nthId(next), .parent = {}, .base = {}, .step = next, .changes = {}});
                const CommitRow row = commit.row();
                saver->put({.log = {name},
                            .expected_head = kept.head ? nthId(kept.head) : CheckpointId(),
                            .commits = {&row, 1},
                            .writes = {},
                            .leaves_finished = finishes});
                kept = {next, finishes};
        }
    }
    std::size_t open = 0;
    std::size_t all = 0;
    const auto newest = newestOf(*saver, {}, 3);
    for (const auto& [name, kept] : threads) {
        if (kept.head == 0) continue;
        ++all;
        open += kept.is_finished ? 0 : 1;
        CAPTURE(name);
        const auto at = std::find_if(newest.begin(), newest.end(),
                                     [&](const IndexedThread& thread) { return thread.place.thread_id == name; });
        REQUIRE(at != newest.end());
        CHECK(at->is_finished == kept.is_finished);
        CHECK(at->place.since <= nthId(kept.head));
        if (kept.is_finished) CHECK(at->place.since == nthId(kept.head));
        CHECK(nthId(kept.head).time() - at->place.since.time() < std::chrono::seconds(1));
    }
    CHECK(newest.size() == all);
    CHECK(std::is_sorted(newest.rbegin(), newest.rend(),
                         [](const IndexedThread& a, const IndexedThread& b) { return a.place < b.place; }));
    CHECK(openNames(*saver, 2).size() == open);
    CHECK(saver->countThreads(100)->open == open);
    CHECK(saver->countThreads(100)->finished == all - open);
}

}  // namespace stategraph::testing
