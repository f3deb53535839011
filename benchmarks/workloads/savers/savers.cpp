// A superstep with a saver. The loop of the workload superstep is stored in memory, on RocksDB, on SQLite and, if
// STATEGRAPH_BENCH_POSTGRES names a server, on PostgreSQL. Other cases have many threads that all request fsync.
#include <algorithm>
#include <thread>

#include "benchmarks/support/bare_postgres.hpp"
#include "benchmarks/support/bare_rocksdb.hpp"
#include "benchmarks/support/bare_sqlite.hpp"
#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/savers/effects.hpp"
#include "benchmarks/workloads/savers/messages.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

/// Returns the rows that the saver gets in one run of `steps`. The rows of the floors have the same sizes.
std::vector<std::string> rowsOfRun(int steps) {
    const FreshSaver fresh(Store::memory);
    loopGraph(steps)
        .compile({.checkpointer = fresh.saver})
        .invoke({sg::set(&Counter::n, 0)}, {.thread_id = "t", .recursion_limit = steps});
    std::vector<std::string> rows;
    for (const auto& row : fresh.saver->list({.thread_id = "t"})) rows.emplace_back(row.bytes);
    std::reverse(rows.begin(), rows.end());
    return rows;
}

/// Returns a key like the saver's: a table's letter, the thread, and an ascending id of 16 bytes.
std::string keyOf(std::string_view thread, std::uint64_t number) {
    std::string key = "c/" + std::string(thread) + "/";
    for (int byte = 0; byte < 16; ++byte) key += static_cast<char>(byte < 8 ? 0 : number >> (8 * (15 - byte)));
    return key;
}

/// One iteration is a run of `steps` on a new thread. The time is that of one superstep.
void loop(benchmark::State& state, Store store, sg::Durability durability, int steps) {
    const FreshSaver fresh(store);
    const auto app = loopGraph(steps).compile({.checkpointer = fresh.saver});
    std::size_t thread = 0;
    for (auto _ : state) {
        const std::string id = "t" + std::to_string(thread++);
        const auto result = app.invoke({sg::set(&Counter::n, 0)},
                                       {.thread_id = id, .durability = durability, .recursion_limit = steps});
        if (result.values.n != steps) state.SkipWithError("wrong result");
        if (store != Store::memory) continue;
        state.PauseTiming();  // otherwise memory would grow without limit
        fresh.saver->deleteThread(id);
        state.ResumeTiming();
    }
    state.counters["items"] = steps;
}

/// Makes one `DB::Write` of a row for each superstep.
void bareWrites(benchmark::State& state, bool sync, int steps) {
    const auto rows = rowsOfRun(steps);
    BareRocksDB bare;
    std::uint64_t number = 0;
    std::size_t thread = 0;
    for (auto _ : state) {
        const std::string id = "t" + std::to_string(thread++);
        for (const auto& row : rows) bare.write(keyOf(id, number++), row, sync);
    }
    state.counters["items"] = steps;
    state.counters["row_bytes"] = static_cast<double>(rows.back().size());
}

/// Copies the rows into memory, one after the other.
void bareCopies(benchmark::State& state, int steps) {
    const auto rows = rowsOfRun(steps);
    for (auto _ : state) {
        std::vector<std::string> log;
        for (const auto& row : rows) log.push_back(row);
        benchmark::DoNotOptimize(log.data());
    }
    state.counters["items"] = steps;
}

template <class F>
void onThreads(std::size_t count, F f) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
    for (auto& thread : threads) thread.join();
}

/// Makes `writers` runs at the same time. Each superstep of a run has an fsync before the next one.
void groupCommit(benchmark::State& state, Store store, std::size_t writers, int steps) {
    const FreshSaver fresh(store);
    const auto app = loopGraph(steps).compile({.checkpointer = fresh.saver});
    std::size_t round = 0;
    for (auto _ : state) {
        const auto begin = Clock::now();
        onThreads(writers, [&](std::size_t i) {
            app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = "t" + std::to_string(round) + "-" + std::to_string(i),
                                                   .durability = sg::Durability::sync,
                                                   .recursion_limit = steps});
        });
        ++round;
        const double seconds = secondsSince(begin);
        state.SetIterationTime(seconds);
        state.counters["items"] = static_cast<double>(writers) * steps;
        state.counters["commits_per_second"] = static_cast<double>(writers) * (steps + 1) / seconds;
    }
}
void bareGroupCommit(benchmark::State& state, std::size_t writers, int steps) {
    const auto rows = rowsOfRun(steps);
    BareRocksDB bare;
    for (auto _ : state) {
        const auto begin = Clock::now();
        onThreads(writers, [&](std::size_t i) {
            const std::string id = "t" + std::to_string(i);
            for (std::uint64_t number = 0; number < rows.size(); ++number)
                bare.write(keyOf(id, number), rows[number], true);
        });
        const double seconds = secondsSince(begin);
        state.SetIterationTime(seconds);
        state.counters["items"] = static_cast<double>(writers) * steps;
        state.counters["commits_per_second"] =
            static_cast<double>(writers) * static_cast<double>(rows.size()) / seconds;
    }
}

#if STATEGRAPH_HAS_SQLITE
/// Makes one transaction of a row for each superstep.
void bareInserts(benchmark::State& state, bool sync, int steps) {
    const auto rows = rowsOfRun(steps);
    BareSqlite bare(sync);
    std::uint64_t number = 0;
    std::size_t thread = 0;
    for (auto _ : state) {
        const std::string id = "t" + std::to_string(thread++);
        for (const auto& row : rows) bare.write(id, keyOf("", number++).substr(3), row);
    }
    state.counters["items"] = steps;
    state.counters["row_bytes"] = static_cast<double>(rows.back().size());
}

void registerSqlite() {
    const int steps = 1000;
    const int sync_steps = quick() ? 20 : 200;
    add("savers/sqlite_async", 1000, [](benchmark::State& state) {
        loop(state, Store::sqlite, sg::Durability::async, steps);
    })->UseRealTime();
    addFloor("savers/sqlite_async", 1000, [](benchmark::State& state) {
        bareInserts(state, false, steps);
    })->UseRealTime();
    add("savers/sqlite_sync", 200, [=](benchmark::State& state) {
        loop(state, Store::sqlite, sg::Durability::sync, sync_steps);
    })->UseRealTime();
    addFloor("savers/sqlite_sync", 200, [=](benchmark::State& state) {
        bareInserts(state, true, sync_steps);
    })->UseRealTime();
    for (const std::size_t writers : {1, 16}) {
        once(add("savers/sqlite_group", writers,
                 [=](benchmark::State& state) { groupCommit(state, Store::sqlite, writers, sync_steps); }));
    }
}
#else
void registerSqlite() {}
#endif

#if STATEGRAPH_HAS_POSTGRES
/// Makes one INSERT of a row for each superstep.
void bareStatements(benchmark::State& state, bool sync, int steps) {
    const auto rows = rowsOfRun(steps);
    BarePostgres bare(sync);
    std::uint64_t number = 0;
    std::size_t thread = 0;
    for (auto _ : state) {
        const std::string id = "t" + std::to_string(thread++);
        for (const auto& row : rows) bare.write(id, keyOf("", number++).substr(3), row);
    }
    state.counters["items"] = steps;
    state.counters["row_bytes"] = static_cast<double>(rows.back().size());
}

void registerPostgres() {
    if (postgresConninfo().empty()) return;
    const int steps = 1000;
    const int sync_steps = quick() ? 20 : 200;
    add("savers/postgres_async", 1000, [](benchmark::State& state) {
        loop(state, Store::postgres, sg::Durability::async, steps);
    })->UseRealTime();
    addFloor("savers/postgres_async", 1000, [](benchmark::State& state) {
        bareStatements(state, false, steps);
    })->UseRealTime();
    add("savers/postgres_sync", 200, [=](benchmark::State& state) {
        loop(state, Store::postgres, sg::Durability::sync, sync_steps);
    })->UseRealTime();
    addFloor("savers/postgres_sync", 200, [=](benchmark::State& state) {
        bareStatements(state, true, sync_steps);
    })->UseRealTime();
    for (const std::size_t writers : {1, 16}) {
        once(add("savers/postgres_group", writers,
                 [=](benchmark::State& state) { groupCommit(state, Store::postgres, writers, sync_steps); }));
    }
}
#else
void registerPostgres() {}
#endif

}  // namespace

void registerCases() {
    const int steps = 1000;
    add("savers/memory", 1000,
        [](benchmark::State& state) { loop(state, Store::memory, sg::Durability::async, steps); });
    addFloor("savers/memory", 1000, [](benchmark::State& state) { bareCopies(state, steps); });
    add("savers/rocksdb_async", 1000, [](benchmark::State& state) {
        loop(state, Store::rocksdb, sg::Durability::async, steps);
    })->UseRealTime();
    addFloor("savers/rocksdb_async", 1000, [](benchmark::State& state) {
        bareWrites(state, false, steps);
    })->UseRealTime();
    add("savers/rocksdb_exit", 1000, [](benchmark::State& state) {
        loop(state, Store::rocksdb, sg::Durability::exit, steps);
    })->UseRealTime();
    for (const std::size_t writers : {1, 4, 16}) {
        const int sync_steps = quick() ? 20 : 200;
        once(add("savers/rocksdb_sync", writers,
                 [=](benchmark::State& state) { groupCommit(state, Store::rocksdb, writers, sync_steps); }));
        once(addFloor("savers/rocksdb_sync", writers,
                      [=](benchmark::State& state) { bareGroupCommit(state, writers, sync_steps); }));
    }
    registerSqlite();
    registerPostgres();
    registerMessages();
    registerEffects();
}

}  // namespace bench
