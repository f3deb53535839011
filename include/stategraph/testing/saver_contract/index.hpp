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

// Tests the index of threads of a saver that keeps one: what each thread waits for, and which threads were written to
// last.
namespace stategraph::testing {

inline constexpr ThreadOutlook says_finished{Status::done, {}};
inline ThreadOutlook sleepsFor(std::int64_t ms) {
    return {Status::sleeping, std::chrono::system_clock::time_point(std::chrono::milliseconds(ms))};
}

inline void putIndexed(BaseCheckpointSaver& saver, const LogName& log, unsigned n, const ThreadOutlook& outlook) {
    const TestCommit commit = makeCommit(n, n - 1);
    const CommitRow row = commit.row();
    saver.put({.log = log,
               .expected_head = n > 1 ? nthId(n - 1) : CheckpointId(),
               .commits = {&row, 1},
               .writes = {},
               .outlook = outlook});
}
/// Puts only the outlook.
inline void putOutlook(BaseCheckpointSaver& saver, const LogName& log, CheckpointId head, const ThreadOutlook& outlook,
                       std::span<const WriteRow> compared = {}) {
    saver.put(
        {.log = log, .expected_head = head, .commits = {}, .writes = {}, .outlook = outlook, .compared = compared});
}

/// Reads page after page of `limit` threads.
inline std::vector<std::string> openNames(BaseCheckpointSaver& saver, std::size_t limit,
                                          Statuses statuses = Statuses::open()) {
    std::vector<std::string> names;
    OpenThreadsQuery query{.statuses = statuses, .after_thread_id = {}, .limit = limit};
    for (;;) {
        const auto page = saver.openThreads(query);
        REQUIRE(page);
        for (const IndexedThread& thread : *page) {
            CHECK(statuses.has(thread.outlook.status));
            names.push_back(thread.place.thread_id);
        }
        if (page->size() < limit) return names;
        query.after_thread_id = names.back();
    }
}
inline std::vector<IndexedThread> newestOf(BaseCheckpointSaver& saver, Statuses statuses, std::size_t limit) {
    std::vector<IndexedThread> all;
    NewestThreadsQuery query{.statuses = statuses, .before = {}, .limit = limit, .with_summaries = true};
    for (;;) {
        const auto page = saver.newestThreads(query);
        REQUIRE(page);
        for (const IndexedThread& thread : *page) CHECK(statuses.has(thread.outlook.status));
        all.insert(all.end(), page->begin(), page->end());
        if (page->size() < limit) return all;
        query.before = all.back().place;
    }
}
inline std::vector<DueThread> dueBy(BaseCheckpointSaver& saver, std::chrono::system_clock::time_point until,
                                    std::size_t limit) {
    std::vector<DueThread> all;
    DueThreadsQuery query{.until = until, .after = {}, .limit = limit};
    for (;;) {
        const auto page = saver.dueThreads(query);
        REQUIRE(page);
        all.insert(all.end(), page->begin(), page->end());
        if (page->size() < limit) return all;
        query.after = all.back();
    }
}

TEST_CASE_TEMPLATE_DEFINE("an index of threads knows which are open, whatever is done to them", Factory, saver_index) {
    Factory factory;
    auto saver = factory.make();
    if (!saver->countThreads(1)) return;  // the saver keeps no index
    CHECK(saver->openThreads({})->empty());
    CHECK((saver->newestThreads({})->empty() && saver->dueThreads({})->empty()));
    for (const char* name : {"b", "ccc", "a", "dd"}) putIndexed(*saver, {name}, 1, {});
    std::vector<std::string> listed;
    for (const auto& head : saver->list({.checkpoint_ns = "", .heads = true})) listed.push_back(head.thread_id);
    CHECK(openNames(*saver, 10) == listed);
    CHECK(openNames(*saver, 1) == listed);
    CHECK(saver->openThreads({.limit = 0})->empty());
    CHECK(saver->newestThreads({.limit = 0})->empty());
    CHECK(saver->dueThreads({.limit = 0})->empty());

    putIndexed(*saver, {"a"}, 2, says_finished);
    putWrite(*saver, {"dd"}, nthId(1), nthId(1), "p", "bytes");
    const auto some = saver->list(
        {.checkpoint_ns = "", .heads = true, .with_writes = true, .thread_ids = {"dd", "nobody", "a", "b"}});
    REQUIRE(some.size() == 3);
    CHECK(some[0].thread_id == "dd");
    CHECK(some[0].writes.size() == 1);
    CHECK(some[1].thread_id == "a");
    CHECK(some[1].id == nthId(2));
    CHECK(some[2].thread_id == "b");
    CHECK(saver->list({.checkpoint_ns = "", .limit = 1, .heads = true, .thread_ids = {"dd", "a"}}).size() == 1);
    CHECK(idsOf(saver->list({.limit = 2, .thread_ids = {"b", "a", "dd"}})) == nthIds({1, 2}));
    std::erase(listed, "a");
    CHECK(openNames(*saver, 3) == listed);
    auto finished = newestOf(*saver, Status::done, 2);
    REQUIRE(finished.size() == 1);
    CHECK(finished[0].place == ThreadPlace{nthId(2), "a"});
    CHECK(newestOf(*saver, Statuses::indexed(), 2).size() == 4);

    // Rows that are stored next to a finished checkpoint, or in another namespace.
    putWrite(*saver, {"a"}, nthId(2), nthId(2), "p", "bytes");
    CHECK(openNames(*saver, 10).size() == 4);
    putOutlook(*saver, {"a"}, nthId(2), says_finished);
    CHECK(openNames(*saver, 10) == listed);
    putIndexed(*saver, {"a", "child"}, 1, {});
    putIndexed(*saver, {"only a child", "child"}, 1, says_finished);
    putIndexed(*saver, {"b", "child"}, 1, says_finished);
    CHECK(saver->list({.heads = true, .thread_ids = {"a"}}).size() == 2);
    CHECK(openNames(*saver, 10) == listed);
    CHECK(saver->countThreads(10)->done() == 1);
    CHECK(saver->countThreads(2)->open() == 2);
    CHECK(saver->countThreads(10)->open() == 3);

    // A writer that knows another head must not report anything about this one.
    CHECK_THROWS_AS(putOutlook(*saver, {"b"}, nthId(7), says_finished), ConcurrentUpdateError);
    CHECK_THROWS_AS(putIndexed(*saver, {"b"}, 3, says_finished), ConcurrentUpdateError);
    CHECK(openNames(*saver, 10) == listed);

    saver->copyThread("b", "copy of b");
    CHECK(openNames(*saver, 10).size() == 4);
    saver->deleteThread("copy of b");
    saver->deleteThread("a");
    CHECK(newestOf(*saver, Status::done, 5).empty());
    CHECK(openNames(*saver, 10) == listed);
    putIndexed(*saver, {"a"}, 1, says_finished);
    CHECK(newestOf(*saver, Statuses::indexed(), 1).size() == 4);
    if constexpr (CanReopen<Factory>) {
        saver.reset();
        saver = factory.reopen();
        CHECK(openNames(*saver, 10) == listed);
        CHECK(newestOf(*saver, Status::done, 5).size() == 1);
        putIndexed(*saver, {"b"}, 2, says_finished);
        CHECK(newestOf(*saver, Status::done, 5).size() == 2);
    }
}

TEST_CASE_TEMPLATE_DEFINE("an index of threads gives threads by status, and those that sleep by when they wake",
                          Factory, saver_index_statuses) {
    Factory factory;
    auto saver = factory.make();
    if (!saver->countThreads(1)) return;
    const auto check = [&] {
        CHECK(openNames(*saver, 1, Status::interrupted) == std::vector<std::string>{"a", "b"});
        CHECK(openNames(*saver, 10, {Status::failed, Status::interrupted, Status::done}) ==
              std::vector<std::string>{"a", "b", "f"});
        CHECK(openNames(*saver, 10, Status::edited).empty());
        CHECK(newestOf(*saver, {Status::failed, Status::done}, 1).size() == 2);
        CHECK((*saver->countThreads(10))[Status::interrupted] == 2);
        CHECK((*saver->countThreads(10))[Status::sleeping] == 4);
        CHECK((*saver->countThreads(1))[Status::sleeping] == 1);
        const std::vector<DueThread> due{{*sleepsFor(-5).due, "w"},
                                         {*sleepsFor(1000).due, "x"},
                                         {*sleepsFor(1000).due, "y"},
                                         {*sleepsFor(4'000'000'000'000).due, "z"}};
        CHECK(dueBy(*saver, std::chrono::system_clock::time_point::max(), 10) == due);
        CHECK(dueBy(*saver, std::chrono::system_clock::time_point::max(), 1) == due);
        CHECK(dueBy(*saver, *sleepsFor(1000).due, 2) == std::vector<DueThread>(due.begin(), due.end() - 1));
        CHECK(dueBy(*saver, *sleepsFor(999).due, 2) == std::vector<DueThread>{due[0]});
        const auto sleeping = newestOf(*saver, Status::sleeping, 10);
        REQUIRE(sleeping.size() == 4);
        CHECK(sleeping[0].outlook == sleepsFor(4'000'000'000'000));
        CHECK(sleeping[0].place == ThreadPlace{nthId(1), "z"});
        CHECK(saver->openThreads({.statuses = Status::sleeping})->front().outlook == sleepsFor(-5));
    };
    for (const char* name : {"b", "a"}) putIndexed(*saver, {name}, 1, {Status::interrupted, {}});
    putIndexed(*saver, {"f"}, 1, {Status::failed, {}});
    putIndexed(*saver, {"g"}, 1, says_finished);
    putIndexed(*saver, {"z"}, 1, sleepsFor(4'000'000'000'000));
    putIndexed(*saver, {"y"}, 1, sleepsFor(1000));
    putIndexed(*saver, {"x"}, 1, sleepsFor(1000));
    putIndexed(*saver, {"w"}, 1, sleepsFor(-5));
    check();
    if constexpr (CanReopen<Factory>) {
        saver.reset();
        saver = factory.reopen();
        check();
    }

    // One thread wakes, one changes its wake time, one is deleted, and one is to wake before all others.
    putWrite(*saver, {"w"}, nthId(1), nthId(1), "p", "bytes");
    putOutlook(*saver, {"y"}, nthId(1), sleepsFor(500));
    saver->deleteThread("x");
    CHECK(dueBy(*saver, *sleepsFor(2000).due, 3) == std::vector<DueThread>{{*sleepsFor(500).due, "y"}});
    putOutlook(*saver, {"a"}, nthId(1), sleepsFor(-1));
    CHECK(dueBy(*saver, *sleepsFor(0).due, 3) == std::vector<DueThread>{{*sleepsFor(-1).due, "a"}});
    CHECK(openNames(*saver, 10, Status::in_flight) == std::vector<std::string>{"w"});
    // Only a sleeping thread has a wake time.
    CHECK_THROWS_AS(putOutlook(*saver, {"w"}, nthId(1), {Status::sleeping, {}}), InvalidArgumentError);
    CHECK_THROWS_AS(putOutlook(*saver, {"w"}, nthId(1), {Status::failed, sleepsFor(1).due}), InvalidArgumentError);
    // An index keeps no words that are not of its own.
    CHECK_THROWS_AS(putOutlook(*saver, {"w"}, nthId(1), {Status::damaged, {}}), InvalidArgumentError);
}

TEST_CASE_TEMPLATE_DEFINE("a request is refused unless the pending writes that it compares are as it says", Factory,
                          saver_index_compared) {
    Factory factory;
    const auto saver = factory.make();
    putIndexed(*saver, {"t"}, 1, {});
    putWrite(*saver, {"t"}, nthId(1), nthId(1), "p", "bytes");
    const auto put = [&](std::string_view path, std::optional<std::string_view> expected) {
        const WriteRow row{nthId(1), path, {}, expected};
        putOutlook(*saver, {"t"}, nthId(1), {Status::interrupted, {}}, {&row, 1});
    };
    CHECK_THROWS_AS(put("p", ""), ConcurrentUpdateError);
    CHECK_THROWS_AS(put("p", "other"), ConcurrentUpdateError);
    CHECK_THROWS_AS(put("q", "bytes"), ConcurrentUpdateError);
    CHECK_THROWS_AS(put("p", {}), InvalidArgumentError);
    const WriteRow compared{nthId(1), "p", {}, "other"};
    const WriteRow written{nthId(1), "r", "new"};
    CHECK_THROWS_AS(saver->put({.log = {"t"},
                                .expected_head = nthId(1),
                                .commits = {},
                                .writes = {&written, 1},
                                .compared = {&compared, 1}}),
                    ConcurrentUpdateError);
    const auto count = [&] { return saver->countThreads(5).value_or(ThreadCounts())[Status::interrupted]; };
    CHECK(count() == 0);
    put("p", "bytes");
    put("q", "");
    CHECK(count() == (saver->countThreads(1) ? 1 : 0));
    const auto tuple = saver->getTuple({.log = {"t"}});
    REQUIRE(tuple);
    REQUIRE(tuple->writes.size() == 1);  // rows that are only compared are not written
    CHECK(tuple->writes[0].bytes == "bytes");
}

// This case is longer than others because each kind of call may follow each other kind, and everything is compared at
// the end.
TEST_CASE_TEMPLATE_DEFINE("an index of threads agrees with what was put, in any order of calls", Factory,
                          saver_index_order) {
    constexpr std::uint64_t seed = 20261124;
    CAPTURE(seed);
    Factory factory;
    const auto saver = factory.make();
    if (!saver->countThreads(1)) return;
    struct Kept {
        unsigned head = 0;
        ThreadOutlook outlook;
        std::string summary;
    };
    std::map<std::string, Kept> threads;
    std::mt19937_64 random(seed);
    const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
    const auto pickOutlook = [&]() -> ThreadOutlook {
        const Status status = indexed_statuses[pick(indexed_statuses.size())];
        if (status == Status::sleeping) return sleepsFor(static_cast<std::int64_t>(pick(6)));
        return {status, {}};
    };
    for (int i = 0; i < 400; ++i) {
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
                kept.outlook = {};
                kept.summary = "";
                break;
            case 2:
                if (kept.head == 0) break;
                kept.outlook = pickOutlook();
                putOutlook(*saver, {name}, nthId(kept.head), kept.outlook);
                kept.summary = "";
                break;
            case 3:
                saver->prune({.keep_last = 1});
                break;
            default:
                // Sometimes there is a pause of more than a second.
                const ThreadOutlook outlook = pickOutlook();
                const unsigned next = kept.head + 1 + (pick(4) == 0 ? 1500 : 0);
                const TestCommit commit =
                    makeCommit({.id = nthId(next), .parent = {}, .base = {}, .step = next, .changes = {}});
                const CommitRow row = commit.row();
                saver->put({.log = {name},
                            .expected_head = kept.head ? nthId(kept.head) : CheckpointId(),
                            .commits = {&row, 1},
                            .writes = {},
                            .outlook = outlook,
                            .summary = name});
                kept = {next, outlook, outlook.status == Status::in_flight ? "" : name};
        }
    }
    ThreadCounts counts;
    std::vector<DueThread> due;
    std::map<Status, std::vector<std::string>> names;
    const auto newest = newestOf(*saver, Statuses::indexed(), 3);
    std::size_t all = 0;
    for (const auto& [name, kept] : threads) {
        if (kept.head == 0) continue;
        ++all;
        ++counts[kept.outlook.status];
        names[kept.outlook.status].push_back(name);
        if (kept.outlook.due) due.push_back({*kept.outlook.due, name});
        CAPTURE(name);
        const auto at = std::find_if(newest.begin(), newest.end(),
                                     [&](const IndexedThread& thread) { return thread.place.thread_id == name; });
        REQUIRE(at != newest.end());
        CHECK(at->outlook == kept.outlook);
        CHECK(at->summary.value_or(kept.summary) == kept.summary);
        CHECK(at->place.since <= nthId(kept.head));
        if (kept.outlook.status != Status::in_flight) CHECK(at->place.since == nthId(kept.head));
        CHECK(nthId(kept.head).time() - at->place.since.time() < std::chrono::seconds(1));
    }
    CHECK(newest.size() == all);
    CHECK(std::is_sorted(newest.rbegin(), newest.rend(),
                         [](const IndexedThread& a, const IndexedThread& b) { return a.place < b.place; }));
    CHECK(saver->countThreads(100)->by_status == counts.by_status);
    CHECK(openNames(*saver, 2).size() == counts.open());
    for (const Status status : indexed_statuses) {
        CHECK(newestOf(*saver, status, 2).size() == counts[status]);
        if (status == Status::done) continue;
        auto named = openNames(*saver, 2, status);
        std::sort(named.begin(), named.end());
        CHECK(named == names[status]);
    }
    std::sort(due.begin(), due.end());
    CHECK(dueBy(*saver, std::chrono::system_clock::time_point::max(), 2) == due);
}

}  // namespace stategraph::testing
