// A thread with a small state after 100 to 100,000 checkpoints: the cost of a superstep of its next run, and the time
// until that run calls its first node (it reads the thread). growing_thread does the same with a state that grows.
#include <string>
#include <vector>

#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/workloads/scaling/scaling.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

constexpr int further = 201;

void nextRun(benchmark::State& state, Store store, int size) {
    std::vector<Clock::time_point> calls;
    calls.reserve(further);
    int limit = 0;
    sg::StateGraph<Counter> graph;
    graph
        .addNode("a",
                 [&](const Counter& s) -> sg::Update<Counter> {
                     if (s.n >= size) calls.push_back(Clock::now());
                     return countOne(s);
                 })
        .addEdge(sg::START, "a")
        .addConditionalEdges("a", [&](const Counter& s) { return s.n < limit ? "a" : sg::END; });
    for (auto _ : state) {
        const FreshSaver fresh(store);
        const auto app = graph.compile({.checkpointer = fresh.saver});
        limit = size;
        app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = "t", .recursion_limit = size});

        limit = size + further;
        calls.clear();
        const auto begin = Clock::now();
        const auto result = app.invoke({sg::set(&Counter::n, size)}, {.thread_id = "t", .recursion_limit = further});
        if (result.values.n != limit || calls.size() != further) state.SkipWithError("wrong result");
        state.SetIterationTime(medianGap(calls, 0, further - 1));
        state.counters["first_node_us"] = std::chrono::duration<double, std::micro>(calls.front() - begin).count();
    }
}

}  // namespace

void registerHistory() {
    for (const Store store : {Store::memory, Store::rocksdb}) {
        for (const std::size_t size : sizesUpTo(10'000, {100, 1000, 10'000, 100'000})) {
            once(add(std::string("scaling/history_") + toString(store), size,
                     [=](benchmark::State& state) { nextRun(state, store, static_cast<int>(size)); }));
        }
    }
}

}  // namespace bench
