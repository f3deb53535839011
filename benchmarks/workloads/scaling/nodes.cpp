// A superstep of a graph with 10 to 10,000 nodes: a router repeats one of the nodes (loop), or the nodes run one after
// the other (ring), so that each superstep uses another node. The number of supersteps is the same for every size.
#include <string>

#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/workloads/scaling/scaling.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

constexpr int steps = 10'000;

std::string nameOf(std::size_t node) { return "n" + std::to_string(node); }

/// START leads to the first of `size` nodes, which repeats itself. Its router could lead to any other node.
sg::StateGraph<Counter> loop(std::size_t size) {
    sg::StateGraph<Counter> graph;
    for (std::size_t i = 0; i < size; ++i) graph.addNode(nameOf(i), countOne);
    const std::string first = nameOf(0);
    graph.addEdge(sg::START, first);
    graph.addConditionalEdges(first, [first](const Counter& s) { return s.n < steps ? first : std::string(sg::END); });
    return graph;
}

/// Each node leads to the next, and the last one to the first.
sg::StateGraph<Counter> ring(std::size_t size) {
    sg::StateGraph<Counter> graph;
    graph.addEdge(sg::START, nameOf(0));
    for (std::size_t i = 0; i < size; ++i) {
        graph.addNode(nameOf(i), countOne);
        if (i + 1 < size) graph.addEdge(nameOf(i), nameOf(i + 1));
    }
    graph.addConditionalEdges(
        nameOf(size - 1), [first = nameOf(0)](const Counter& s) { return s.n < steps ? first : std::string(sg::END); });
    return graph;
}

/// One iteration is a run of all supersteps. The time is that of one superstep.
void run(benchmark::State& state, const sg::StateGraph<Counter>& graph, Store store) {
    const FreshSaver fresh(store);
    const auto app = graph.compile({.checkpointer = fresh.saver});
    for (auto _ : state) {
        const auto result = app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = "t", .recursion_limit = steps});
        if (result.values.n != steps) state.SkipWithError("wrong result");
        if (!fresh.saver) continue;
        state.PauseTiming();  // so that each iteration begins with an empty thread
        fresh.saver->deleteThread("t");
        state.ResumeTiming();
    }
    state.counters["items"] = steps;
}

}  // namespace

void registerNodes() {
    for (const std::size_t size : {10, 100, 1000, 10'000}) {
        add("scaling/nodes_loop", size, [=](benchmark::State& state) { run(state, loop(size), Store::none); });
        add("scaling/nodes_ring", size, [=](benchmark::State& state) { run(state, ring(size), Store::none); });
        add("scaling/nodes_ring_memory", size, [=](benchmark::State& state) { run(state, ring(size), Store::memory); });
    }
}

}  // namespace bench
