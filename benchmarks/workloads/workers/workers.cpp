// Durable runs of five supersteps by a worker on a queue in PostgreSQL, if STATEGRAPH_BENCH_POSTGRES names a server.
// The time is from the submission of all inputs until the end of the last run.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <stategraph/stategraph.hpp>
#include <stategraph/worker.hpp>

#include "benchmarks/support/bare_postgres.hpp"
#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int supersteps = 5;
constexpr std::size_t submitted_at_once = 64;

/// An empty schema, which is dropped at the end.
class FreshSchema {
public:
    FreshSchema() : name_("bench_workers_" + std::to_string(::getpid())) { drop(); }
    FreshSchema(const FreshSchema&) = delete;
    FreshSchema& operator=(const FreshSchema&) = delete;
    ~FreshSchema() { drop(); }
    std::shared_ptr<sg::PostgresSaver> open(std::size_t connections, const sg::PostgresJoinOptions& join = {}) const {
        return std::make_shared<sg::PostgresSaver>(
            postgresConninfo(),
            sg::PostgresSaverOptions{
                .schema = name_, .set_up = true, .connections_max = connections, .join_puts = join});
    }

private:
    void drop() const {
        PGconn* const connection = PQconnectdb(postgresConninfo().c_str());
        PQclear(
            PQexec(connection, ("SET client_min_messages=error; DROP SCHEMA IF EXISTS " + name_ + " CASCADE").c_str()));
        PQfinish(connection);
    }

    const std::string name_;
};

/// A transaction of another connection that keeps the snapshot of the moment at which it began, as a forgotten client
/// or a long report does. Meanwhile the server removes no row that is dead since then.
class HeldSnapshot {
public:
    explicit HeldSnapshot(bool is_held) : connection_(is_held ? PQconnectdb(postgresConninfo().c_str()) : nullptr) {
        if (!is_held) return;
        PQclear(PQexec(connection_, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
        PQclear(PQexec(connection_, "SELECT count(*) FROM pg_class"));
    }
    HeldSnapshot(const HeldSnapshot&) = delete;
    HeldSnapshot& operator=(const HeldSnapshot&) = delete;
    ~HeldSnapshot() { PQfinish(connection_); }
    bool isHeld() const { return connection_ == nullptr || PQtransactionStatus(connection_) == PQTRANS_INTRANS; }

private:
    PGconn* const connection_;
};

std::vector<sg::QueuedInput> inputsOf(std::size_t runs) {
    std::vector<sg::QueuedInput> inputs;
    for (std::size_t i = 0; i < runs; ++i)
        inputs.push_back(
            {.thread_id = "t" + std::to_string(i), .graph = "loop", .input = sg::parseJson(R"({"n": 0})")});
    return inputs;
}

/// Measures the time, rates and round trips of `count` runs with `slots` slots. Each run must end, and none may be
/// tried again.
void runs(benchmark::State& state, sg::Durability durability, std::size_t slots, std::size_t count,
          const sg::PostgresJoinOptions& join, bool has_held_snapshot = false) {
    for (auto _ : state) {
        const FreshSchema schema;
        const auto saver = schema.open(std::min<std::size_t>(slots + 2, 40), join);
        const HeldSnapshot held(has_held_snapshot);
        const auto leased = std::make_shared<sg::LeasedSaver>(saver);
        sg::Worker worker(leased, {.slots = slots, .poll_interval = 10ms});
        worker.add("loop", loopGraph(supersteps).compile({.checkpointer = leased}),
                   {.config = {.durability = durability}});
        const auto inputs = inputsOf(count);
        std::thread thread([&] { worker.run(); });
        const std::uint64_t trips_before = saver->roundTrips();
        const auto begin = Clock::now();
        for (std::size_t at = 0; at < inputs.size(); at += submitted_at_once)
            (void)worker.queue().submit(std::span(inputs).subspan(at, std::min(submitted_at_once, inputs.size() - at)));
        while (worker.metrics().finished < count) std::this_thread::sleep_for(1ms);
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        const auto trips = static_cast<double>(saver->roundTrips() - trips_before);
        worker.stop();
        thread.join();
        const sg::WorkerMetrics metrics = worker.metrics();
        if (metrics.finished != count || metrics.retried != 0) state.SkipWithError("runs failed");
        if (!held.isHeld()) state.SkipWithError("the snapshot was not held");
        state.SetIterationTime(seconds);
        state.counters["items"] = static_cast<double>(count);
        state.counters["runs_per_second"] = static_cast<double>(count) / seconds;
        state.counters["round_trips_a_superstep"] = trips / static_cast<double>(count * supersteps);
        state.counters["joined_a_run"] = static_cast<double>(saver->joinedPuts()) / static_cast<double>(count);
        state.counters["claims"] = static_cast<double>(metrics.claims);
    }
}

/// Measures only the queue: threads are submitted, claimed and released in statements for 64 threads.
void queueAlone(benchmark::State& state, std::size_t count, bool has_held_snapshot = false) {
    for (auto _ : state) {
        const FreshSchema schema;
        const HeldSnapshot held(has_held_snapshot);
        sg::PostgresQueue queue(schema.open(2));
        const auto inputs = inputsOf(count);
        sg::ClaimRequest request{
            .worker = "bench", .graphs = {{"loop", {1, 1}}}, .queues = {{"default", submitted_at_once}}};
        const auto begin = Clock::now();
        for (std::size_t at = 0; at < inputs.size(); at += submitted_at_once)
            (void)queue.submit(std::span(inputs).subspan(at, std::min(submitted_at_once, inputs.size() - at)));
        std::size_t left = 0;
        while (left < count) {
            std::vector<sg::Release> releases;
            const auto claims = queue.claim(request);
            // As a worker does, though a worker looks at all that is due every second.
            if (!claims.empty()) request.queues[0].due_after = claims.back().due - 1s;
            for (const sg::Claim& claim : claims)
                releases.push_back({.thread_id = claim.thread_id,
                                    .epoch = claim.epoch,
                                    .outcome = sg::WorkOutcome::retry,
                                    .delay = 1h});
            left += queue.release(releases).size();
        }
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        state.SetIterationTime(seconds);
        state.counters["items"] = static_cast<double>(count);
        state.counters["threads_per_second"] = static_cast<double>(count) / seconds;
    }
}

}  // namespace

void registerCases() {
    if (postgresConninfo().empty()) return;
    const std::size_t count = quick() ? 100 : 2'000;
    const auto each = [&](const std::string& name, std::size_t slots, const sg::PostgresJoinOptions& join) {
        for (const auto durability : {sg::Durability::async, sg::Durability::sync}) {
            once(add("workers/" + name + (durability == sg::Durability::async ? "async" : "sync"), slots,
                     [=](benchmark::State& state) { runs(state, durability, slots, count, join); }));
        }
    };
    for (const std::size_t slots : {1, 8, 16, 64, 128, 256, 512}) each("", slots, {});
    for (const std::size_t slots : {8, 16, 64}) each("single_puts/", slots, {.puts_max = 1});
    for (const std::size_t slots : {16, 64}) each("one_statement/", slots, {.statements_max = 1});
    // What an old snapshot costs grows with the rows that are dead since then.
    for (const bool is_held : {false, true}) {
        const std::string name = is_held ? "held_snapshot" : "no_snapshot";
        once(add("workers/" + name, 5 * count,
                 [=](benchmark::State& state) { runs(state, sg::Durability::async, 64, 5 * count, {}, is_held); }));
        once(add("workers/queue_" + name, 10 * count,
                 [=](benchmark::State& state) { queueAlone(state, 10 * count, is_held); }));
    }
    once(add("workers/queue", submitted_at_once, [=](benchmark::State& state) { queueAlone(state, count); }));
}

}  // namespace bench
