#include "storage/saver/retention.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <system_error>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#endif
#include <stategraph/testing/saver_contract/support.hpp>

#include "src/checkpoint/commit_fields.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

using namespace std::chrono_literals;

// Retention and the test share RocksDB's block cache and group commits, whose locks ThreadSanitizer cannot see
// (cmake/tsan.supp). Frames of RocksDB are mostly missing from the reports, so the reports cannot be distinguished. The
// saver's own code is in the same class as that of the memory saver.
#if defined(__SANITIZE_THREAD__)
#define RETENTION_ON_ROCKSDB 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RETENTION_ON_ROCKSDB 0
#endif
#endif
#ifndef RETENTION_ON_ROCKSDB
#define RETENTION_ON_ROCKSDB STATEGRAPH_HAS_ROCKSDB
#endif

namespace stategraph::testing {
namespace {

namespace fs = std::filesystem;
using Moment = std::chrono::system_clock::time_point;

/// Returns a commit at which a node is due.
TestCommit makeDue(unsigned n, unsigned parent) {
    TestCommit commit = makeCommit(n, parent);
    commit.bytes.clear();
    checkpoint::writeCommit(
        {.id = commit.id, .parent = commit.parent, .base = commit.base, .step = n, .next = {"node"}}, commit.bytes);
    return commit;
}

/// Stores a new thread in one put, so that retention sees all of it or nothing.
void putThread(BaseCheckpointSaver& saver, std::string_view thread_id, const std::vector<TestCommit>& commits,
               bool asks = false) {
    std::vector<CommitRow> rows;
    for (const auto& commit : commits) rows.push_back(commit.row());
    const std::string task = makeTask(rows.back().id, asks);
    const WriteRow write{rows.back().id, "path", task};
    saver.put({.log = {thread_id}, .expected_head = {}, .commits = rows, .writes = {&write, 1}});
}

/// Calls `body(make)` for each kind of saver; make(options) returns a new saver with that retention on what `fill`
/// stored.
template <typename F>
void onEachWith(const std::function<void(BaseCheckpointSaver&)>& fill, const RetentionOptions& options, F&& body) {
    {
        INFO("on the memory saver");
        MemorySaver saver({.retention = options});
        fill(saver);
        body(saver);
    }
#if RETENTION_ON_ROCKSDB
    {
        INFO("on RocksDB");
        const TemporaryFolder folder;
        {
            RocksDBSaver saver((folder / "db").string());
            fill(saver);
        }
        RocksDBSaver saver((folder / "db").string(), {.retention = options});
        body(saver);
    }
#endif
}

/// Waits until that many prunes have begun and ended from now on.
template <typename Saver>
RetentionReport waitForRuns(const Saver& saver, std::uint64_t more) {
    const std::uint64_t wanted = saver.retentionReport().runs + more;
    for (;;) {
        if (auto report = saver.retentionReport(); report.runs >= wanted) return report;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sleeps: between two looks
    }
}

/// A saver that can only prune, in the way that the test chooses.
class PruneOnly final : public BaseCheckpointSaver {
public:
    std::function<std::size_t(const PruneRequest&)> on_prune;

    void put(const PutRequest&) override {}
    std::optional<CheckpointTuple> getTuple(const TupleQuery&) override { return std::nullopt; }
    std::vector<ListedCheckpoint> list(const ListQuery&) override { return {}; }
    void deleteThread(std::string_view) override {}
    void copyThread(std::string_view, std::string_view) override {}
    std::size_t prune(const PruneRequest& request) override { return on_prune(request); }
};

RetentionReport waitForRuns(const checkpoint::Retention& retention, std::uint64_t wanted) {
    for (;;) {
        if (auto report = retention.report(); report.runs >= wanted) return report;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sleeps: between two looks
    }
}

/// Returns a checkpoint's id that was created now.
CheckpointId idOfNow() {
    const auto now_ms = std::chrono::system_clock::now().time_since_epoch() / 1ms;
    return {static_cast<std::uint64_t>(now_ms) << 16U | 0x7000U, 1};
}

}  // namespace

TEST_CASE("retention that is impossible is an error where the saver is made") {
    const RetentionOptions impossible[] = {
        {},
        {.keep_last = 0},
        {.keep_last = 0, .older_than = 1h},
        {.keep_last = 1, .every = 0ms},
        {.keep_last = 1, .every = -1ms},
        {.older_than = -1ms},
        {.threads_unused_for = -1ms},
    };
    for (const auto& options : impossible) {
        CHECK_THROWS_AS(MemorySaver({.retention = options}), InvalidArgumentError);
#if RETENTION_ON_ROCKSDB
        const TemporaryFolder folder;
        CHECK_THROWS_AS(RocksDBSaver((folder / "db").string(), {.retention = options}), InvalidArgumentError);
        CHECK_FALSE(fs::exists((folder / "db").string()));
#endif
    }
#if RETENTION_ON_ROCKSDB
    const TemporaryFolder folder;
    { const RocksDBSaver makes_it((folder / "db").string()); }
    CHECK_THROWS_AS(
        RocksDBSaver((folder / "db").string(), {.read_only = true, .retention = RetentionOptions{.keep_last = 1}}),
        InvalidArgumentError);
#endif
}

TEST_CASE("retention asks for dates made from ages") {
    const PruneRequest all =
        checkpoint::pruneAt({.keep_last = 7, .older_than = 10ms, .threads_unused_for = 30ms}, Moment(1s));
    CHECK_FALSE(all.thread_id);
    CHECK(all.keep_last == 7U);
    CHECK(all.older_than == Moment(990ms));
    CHECK(all.threads_unused_since == Moment(970ms));
    const PruneRequest one = checkpoint::pruneAt({.older_than = std::chrono::milliseconds::max()}, Moment(1s));
    CHECK_FALSE(one.keep_last);
    CHECK(one.older_than == Moment::min());
    CHECK_FALSE(one.threads_unused_since);
}

TEST_CASE("a saver without retention drops nothing and reports nothing") {
    MemorySaver saver;
    putLine(saver, {"t"}, 5);
    const RetentionReport report = saver.retentionReport();
    CHECK(report.runs == 0);
    CHECK(report.dropped_commits == 0);
    CHECK(report.last_error.empty());
    CHECK_FALSE(report.last_run_at);
    CHECK(saver.list({}).size() == 5);
}

TEST_CASE("retention keeps the newest commits of each thread, again and again") {
    onEachWith([](BaseCheckpointSaver& saver) { putLine(saver, {"a"}, 20); }, {.keep_last = 3, .every = 1ms},
               [](auto& saver) {
                   const auto before = std::chrono::system_clock::now();
                   CHECK(waitForRuns(saver, 2).dropped_commits == 17);
                   CHECK(listIds(saver, {"a"}) == nthIds({20, 19, 18}));
                   putLine(saver, {"b"}, 5);
                   putOne(saver, {"a"}, nthId(20), makeCommit(21, 20));
                   const RetentionReport report = waitForRuns(saver, 2);
                   CHECK(report.dropped_commits == 20);
                   CHECK(report.failed_runs == 0);
                   CHECK(report.last_error.empty());
                   CHECK(report.last_run_at.value() >= before);
                   CHECK(listIds(saver, {"a"}) == nthIds({21, 20, 19}));
                   CHECK(listIds(saver, {"b"}) == nthIds({5, 4, 3}));
               });
}

TEST_CASE("retention by age drops what is old and keeps heads and what is young") {
    const CheckpointId young = idOfNow();
    const auto fill = [&](BaseCheckpointSaver& saver) {
        putLine(saver, {"old"}, 4);
        putLine(saver, {"young"}, 4);
        std::string bytes;
        checkpoint::writeCommit({.id = young, .parent = nthId(4), .base = young, .step = 5}, bytes);
        const CommitRow row{young, nthId(4), young, bytes};
        saver.put({.log = {"young"}, .expected_head = nthId(4), .commits = {&row, 1}, .writes = {}});
    };
    onEachWith(fill, {.older_than = 1h, .every = 1ms}, [&](auto& saver) {
        waitForRuns(saver, 2);
        CHECK(listIds(saver, {"old"}) == nthIds({4}));
        CHECK(listIds(saver, {"young"}) == std::vector<CheckpointId>{young});
    });
}

TEST_CASE("retention drops threads that are finished and unused, and no others") {
    const CheckpointId young = idOfNow();
    const auto fill = [&](BaseCheckpointSaver& saver) {
        putThread(saver, "unused", {makeCommit(1, 0), makeCommit(2, 1), makeCommit(3, 2), makeCommit(4, 3)});
        putThread(saver, "due", {makeCommit(1, 0), makeDue(2, 1)});
        putThread(saver, "asks", {makeCommit(1, 0), makeCommit(2, 1)}, true);
        std::string bytes;
        checkpoint::writeCommit({.id = young, .base = young}, bytes);
        const CommitRow row{young, {}, young, bytes};
        saver.put({.log = {"young"}, .expected_head = {}, .commits = {&row, 1}, .writes = {}});
    };
    onEachWith(fill, {.threads_unused_for = 1h, .every = 1ms}, [&](auto& saver) {
        CHECK(waitForRuns(saver, 2).dropped_commits == 4);
        CHECK(listIds(saver, {"unused"}).empty());
        CHECK(listIds(saver, {"due"}) == nthIds({2, 1}));
        CHECK(listIds(saver, {"asks"}) == nthIds({2, 1}));
        CHECK(listIds(saver, {"young"}).size() == 1);
    });
}

TEST_CASE("a prune that fails is reported and the next one is tried") {
    PruneOnly saver;
    std::atomic<unsigned> calls{0};
    saver.on_prune = [&](const PruneRequest& request) -> std::size_t {
        CHECK(request.keep_last == 2U);
        switch (calls++) {
            case 0:
                throw SaverError("the disk is full");
            case 1:
                return 5;
            case 2:
                throw 42;
            case 3:
                return 7;
            default:
                return 0;
        }
    };
    const checkpoint::Retention retention(saver, {.keep_last = 2, .every = 1ms});
    const RetentionReport report = waitForRuns(retention, 5);
    CHECK(report.failed_runs == 2);
    CHECK(report.dropped_commits == 12);
    CHECK(report.last_error == "unknown exception");
    CHECK(report.last_run_at);
}

TEST_CASE("the error of a failed prune is there to be read until another one fails") {
    PruneOnly saver;
    std::atomic<unsigned> calls{0};
    saver.on_prune = [&](const PruneRequest&) -> std::size_t {
        if (calls++ == 0) throw SaverError("the disk is full");
        return 1;
    };
    const checkpoint::Retention retention(saver, {.older_than = 0ms, .every = 1ms});
    const RetentionReport report = waitForRuns(retention, 3);
    CHECK(report.failed_runs == 1);
    CHECK(report.last_error == "the disk is full");
    CHECK(report.dropped_commits >= 2);
}

TEST_CASE("retention runs once at the start, and a saver that goes does not wait for the next time") {
    for (const std::chrono::milliseconds every : {std::chrono::milliseconds(1h), std::chrono::milliseconds::max()}) {
        onEachWith([](BaseCheckpointSaver& saver) { putLine(saver, {"t"}, 3); }, {.keep_last = 1, .every = every},
                   [](auto& saver) {
                       patience::until([&] { return saver.retentionReport().runs != 0; });
                       CHECK(saver.retentionReport().runs == 1);
                   });
    }
}

TEST_CASE("a saver may go at any moment of a prune") {
    for (int round = 0; round < 10; ++round) {
        onEachWith(
            [](BaseCheckpointSaver& saver) {
                for (unsigned t = 0; t < 50; ++t) putLine(saver, {"thread " + std::to_string(t)}, 4);
            },
            {.keep_last = 1, .every = 1ms}, [](auto& saver) { CHECK(saver.list({.heads = true}).size() == 50); });
    }
}

TEST_CASE("threads are written, read and deleted while retention prunes them") {
    onEachWith([](BaseCheckpointSaver&) {}, {.keep_last = 2, .threads_unused_for = 1h, .every = 1ms},
               [](auto& saver) {
                   std::atomic<unsigned> stored{0};
                   std::atomic<unsigned> wrong{0};
                   const auto work = [&](unsigned who) {
                       const std::string shared = "shared";
                       const std::string own = "own " + std::to_string(who);
                       for (unsigned n = 1; n <= 150; ++n) {
                           try {
                               putOne(saver, {own}, headOf(saver, {own}), makeDue(n, 0));
                               putOne(saver, {shared}, headOf(saver, {shared}), makeDue(n * 4 + who, 0));
                               ++stored;
                           } catch (const ConcurrentUpdateError&) {
                           } catch (const InvalidArgumentError&) {  // a rival's id is greater
                           }
                           // Due tasks stay, whatever their age.
                           wrong += saver.list({.thread_id = own}).empty();
                           (void)saver.retentionReport();
                           if (n % 50 == 0) saver.deleteThread(own);
                       }
                   };
                   std::vector<std::thread> threads;
                   for (unsigned who = 0; who < 4; ++who) threads.emplace_back(work, who);
                   for (auto& thread : threads) thread.join();
                   const RetentionReport report = waitForRuns(saver, 2);
                   CHECK(stored > 0);
                   CHECK(wrong == 0);
                   CHECK(report.last_error.empty());
                   CHECK(saver.list({.thread_id = "shared"}).size() == 2);
               });
}

TEST_CASE("space that a prune frees is given back") {
    const std::string text(1000, 'x');
    const auto fill = [&](BaseCheckpointSaver& saver, const std::string& thread_id, unsigned count) {
        for (unsigned n = 1; n <= count; ++n)
            putOne(saver, {thread_id}, n > 1 ? nthId(n - 1) : CheckpointId(), makeCommit(n, n - 1, 0, text));
    };
    const auto shrinks = [&](BaseCheckpointSaver& saver, const std::function<std::uint64_t()>& bytes) {
        fill(saver, "t", 5000);
        const std::uint64_t before = bytes();
        CHECK(before > 1'000'000);
        CHECK(saver.prune({.keep_last = 10}) == 4990);
        CHECK(patience::eventually([&] { return bytes() < before / 4; }));
        CHECK(listIds(saver, {"t"}).size() == 10);
    };
    {
        MemorySaver saver;
        shrinks(saver, [&] { return saver.storedBytes().value(); });
    }
#if RETENTION_ON_ROCKSDB
    const TemporaryFolder folder;
    RocksDBSaver saver((folder / "db").string());
    shrinks(saver, [&] { return saver.storedBytes().value(); });
    // The same holds for the folder, with many small prunes.
    const auto folderSize = [&] {
        std::uint64_t size = 0;
        for (const auto& file : fs::directory_iterator((folder / "db").string())) {
            std::error_code gone;  // RocksDB's own threads remove files
            const std::uintmax_t bytes = file.file_size(gone);
            if (!gone) size += bytes;
        }
        return size;
    };
    for (unsigned t = 0; t < 40; ++t) {
        const std::string thread_id = "thread " + std::to_string(t);
        fill(saver, thread_id, 500);
        CHECK(saver.prune({.keep_last = 1}) >= 499);
        CHECK(patience::eventually([&] { return folderSize() < 8'000'000; }));  // 20 MB in all
    }
#endif
}

}  // namespace stategraph::testing
