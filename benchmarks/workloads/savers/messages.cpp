// Runs that append a message of 200 bytes in each superstep, on PostgreSQL: the time of a superstep, what the server
// keeps of it, and what it writes to its log for it. The program for LangGraph.js (peers/langgraphjs/postgres.mjs) does
// the same on the same server. On both sides no commit waits for the server's disk with `async`, and each does with
// `sync`.
#include "benchmarks/workloads/savers/messages.hpp"

#if STATEGRAPH_HAS_POSTGRES
#include <string>
#include <vector>

#include "benchmarks/support/bare_postgres.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/growing_thread/conversation.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

double logBytes() { return askPostgres("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"); }

/// Makes one run of `size` supersteps on each of `threads` threads, one after the other.
void runs(benchmark::State& state, sg::Durability durability, std::size_t size, std::size_t threads) {
    const auto& texts = messages(size);
    const int limit = static_cast<int>(size);
    sg::StateGraph<Conversation> graph;
    graph
        .addNode("say",
                 [&](const Conversation& s) -> sg::Update<Conversation> {
                     return {sg::add(&Conversation::messages, texts[static_cast<std::size_t>(s.n)]),
                             sg::set(&Conversation::n, s.n + 1)};
                 })
        .addEdge(sg::START, "say")
        .addConditionalEdges("say", [limit](const Conversation& s) { return s.n < limit ? "say" : sg::END; });
    for (auto _ : state) {
        const FreshSaver fresh(Store::postgres);
        const auto app = graph.compile({.checkpointer = fresh.saver});
        const double stored = fresh.storedBytes();
        const double logged = logBytes();
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < threads; ++i) {
            const auto result = app.invoke(
                {sg::set(&Conversation::n, 0)},
                {.thread_id = "messages " + std::to_string(i), .durability = durability, .recursion_limit = limit});
            if (result.values.messages.size() != size) state.SkipWithError("wrong result");
        }
        const double seconds = secondsSince(begin);
        const auto steps = static_cast<double>(size * threads);
        state.SetIterationTime(seconds);
        state.counters["items"] = steps;
        state.counters["stored_bytes_a_superstep"] = (fresh.storedBytes() - stored) / steps;
        state.counters["log_bytes_a_superstep"] = (logBytes() - logged) / steps;
    }
}

}  // namespace

void registerMessages() {
    if (postgresConninfo().empty()) return;
    for (const std::size_t size : quick() ? std::vector<std::size_t>{30} : std::vector<std::size_t>{300}) {
        once(add("savers/postgres_messages_async", size,
                 [=](benchmark::State& state) { runs(state, sg::Durability::async, size, 10); }));
        once(add("savers/postgres_messages_sync", size,
                 [=](benchmark::State& state) { runs(state, sg::Durability::sync, size, 3); }));
    }
}

}  // namespace bench
#else
namespace bench {
void registerMessages() {}
}  // namespace bench
#endif
