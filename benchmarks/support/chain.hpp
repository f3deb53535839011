#pragma once
#include <string>
#include <vector>

#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {

/// Returns a chain of `size` nodes, each of which counts.
inline stategraph::StateGraph<Counter> chainGraph(std::size_t size) {
    stategraph::StateGraph<Counter> graph;
    std::string before = stategraph::START;
    for (std::size_t i = 0; i < size; ++i) {
        std::string name = "n" + std::to_string(i);
        graph.addNode(name, countOne).addEdge(before, name);
        before = std::move(name);
    }
    graph.addEdge(before, stategraph::END);
    return graph;
}

/// One iteration is one `invoke`.
inline void runChain(benchmark::State& state, std::size_t size) {
    const auto app = chainGraph(size).compile();
    const stategraph::RunConfig config{.recursion_limit = static_cast<int>(size)};
    for (auto _ : state) {
        const auto result = app.invoke({stategraph::set(&Counter::n, 0)}, config);
        if (result.values.n != static_cast<int>(size)) state.SkipWithError("wrong result");
    }
}

inline void runChainByHand(benchmark::State& state, std::size_t size) {
    std::vector<CounterNode> nodes(size, countByHand);
    benchmark::DoNotOptimize(nodes.data());
    for (auto _ : state) {
        Counter counter;
        for (const CounterNode node : nodes) counter = node(counter);
        benchmark::DoNotOptimize(counter);
    }
}

}  // namespace bench
