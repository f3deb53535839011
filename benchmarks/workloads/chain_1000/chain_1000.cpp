// Chains of up to a thousand nodes (LangGraph's sequential_10 and sequential_1000). It measures whether a superstep
// costs more in a larger graph, and the cost of compiling a graph.
#include <map>

#include "benchmarks/support/chain.hpp"
#include "benchmarks/support/tbb_graph.hpp"

namespace bench {
namespace {

void compileChain(benchmark::State& state, std::size_t size) {
    const auto graph = chainGraph(size);
    for (auto _ : state) {
        const auto app = graph.compile();
        benchmark::DoNotOptimize(app.core().get());
    }
}

void perNode(benchmark::State& state, std::size_t size) { state.counters["items"] = static_cast<double>(size); }

/// Does the least that compiling needs, which is to put each name into an index.
void indexByHand(benchmark::State& state, std::size_t size) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < size; ++i) names.push_back("n" + std::to_string(i));
    for (auto _ : state) {
        std::map<std::string, std::size_t> index;
        for (const auto& name : names) index.emplace(name, index.size());
        benchmark::DoNotOptimize(index);
    }
}

}  // namespace

void registerCases() {
    for (const std::size_t size : {10, 100, 1000}) {
        add("chain_1000/invoke", size, [=](benchmark::State& state) { runChain(state, size), perNode(state, size); });
        addFloor("chain_1000/invoke", size,
                 [=](benchmark::State& state) { runChainByHand(state, size), perNode(state, size); });
        tbb_graph::addChain("chain_1000/invoke", size, true);
        add("chain_1000/compile", size, [=](benchmark::State& state) { compileChain(state, size); });
        addFloor("chain_1000/compile", size, [=](benchmark::State& state) { indexByHand(state, size); });
    }
}

}  // namespace bench
