// LangGraph's sequential: chains of nodes that write nothing, over a list of messages that stays empty.
#include "benchmarks/support/sequential.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

void sequential(benchmark::State& state, std::size_t size, Store store) {
    std::size_t calls = 0;
    const auto graph = sequentialGraph(size, &calls);
    for (auto _ : state) {
        state.PauseTiming();
        const FreshSaver fresh(store);
        const auto app = graph.compile({.checkpointer = fresh.saver});
        calls = 0;
        state.ResumeTiming();
        const auto result = app.invoke(
            sequentialInput(),
            {.thread_id = "t", .durability = sg::Durability::exit, .recursion_limit = 1'000'000, .max_concurrency = 1});
        if (calls != size || !result.values.messages.empty()) state.SkipWithError("wrong result");
    }
}

void byHand(benchmark::State& state, std::size_t size) {
    using Node = void (*)(const Notes&, std::size_t&);
    std::vector<Node> nodes(size, [](const Notes&, std::size_t& calls) { ++calls; });
    benchmark::DoNotOptimize(nodes.data());
    for (auto _ : state) {
        const Notes notes;
        std::size_t calls = 0;
        for (const Node node : nodes) node(notes, calls);
        benchmark::DoNotOptimize(calls);
    }
}

}  // namespace

void registerCases() {
    for (const std::size_t size : {10, 100, 1000}) {
        if (quick() && size > 10) continue;
        add("sequential/no_saver", size, [=](benchmark::State& state) { sequential(state, size, Store::none); });
        addFloor("sequential/no_saver", size, [=](benchmark::State& state) { byHand(state, size); });
        add("sequential/checkpoint", size, [=](benchmark::State& state) { sequential(state, size, Store::memory); });
    }
}

}  // namespace bench
