// Workers to which START leads, and a join after them. They run one after the other (inline) and on the pool.
#include <string>

#include "benchmarks/support/tbb_graph.hpp"
#include "benchmarks/support/team.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

void workersAndAJoin(benchmark::State& state, std::size_t size, std::optional<int> concurrency) {
    sg::StateGraph<Team> graph;
    std::vector<std::string> workers;
    for (std::size_t i = 0; i < size; ++i) {
        workers.push_back("w" + std::to_string(i));
        graph.addNode(workers.back(),
                      [i](const Team&) -> sg::Update<Team> { return {sg::add(&Team::done, static_cast<int>(i))}; });
        graph.addEdge(sg::START, workers.back());
    }
    graph.addNode("join", countDone).addEdge(workers, "join").addEdge("join", sg::END);
    const auto app = graph.compile();
    const sg::RunConfig config{.max_concurrency = concurrency};
    for (auto _ : state) {
        const auto result = app.invoke({}, config);
        if (result.values.count != static_cast<int>(size)) state.SkipWithError("wrong result");
    }
}

void byHand(benchmark::State& state, std::size_t size) {
    std::vector<Worker> workers(size, workByHand);
    benchmark::DoNotOptimize(workers.data());
    for (auto _ : state) benchmark::DoNotOptimize(teamByHand(workers));
}

}  // namespace

void registerCases() {
    for (const std::size_t size : {5, 100}) {
        add("fan_out/inline", size, [=](benchmark::State& state) { workersAndAJoin(state, size, 1); });
        addFloor("fan_out/inline", size, [=](benchmark::State& state) { byHand(state, size); });
        add("fan_out/pool", size, [=](benchmark::State& state) { workersAndAJoin(state, size, {}); })->UseRealTime();
        addFloor("fan_out/pool", size, [=](benchmark::State& state) { byHand(state, size); })->UseRealTime();
        tbb_graph::addTeams("fan_out/inline", "fan_out/pool", size);
    }
}

}  // namespace bench
