// Nodes that wait (for a model, or a database) and should wait at the same time. The floor is a sleep of the same
// length.
#include <chrono>
#include <thread>

#include "benchmarks/support/team.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

constexpr auto pause = std::chrono::milliseconds(20);

void parallelSleeps(benchmark::State& state, std::size_t size) {
    sg::StateGraph<Team> graph;
    std::vector<std::string> workers;
    for (std::size_t i = 0; i < size; ++i) {
        workers.push_back("w" + std::to_string(i));
        graph.addNode(workers.back(), [i](const Team&) -> sg::Update<Team> {
            std::this_thread::sleep_for(pause);
            return {sg::add(&Team::done, static_cast<int>(i))};
        });
        graph.addEdge(sg::START, workers.back());
    }
    graph.addNode("join", countDone).addEdge(workers, "join").addEdge("join", sg::END);
    const auto app = graph.compile();
    for (auto _ : state) {
        const auto result = app.invoke({}, {});
        if (result.values.count != static_cast<int>(size)) state.SkipWithError("wrong result");
    }
}

void oneSleep(benchmark::State& state) {
    for (auto _ : state) std::this_thread::sleep_for(pause);
}

}  // namespace

void registerCases() {
    for (const std::size_t size : {1, 5, 64}) {
        add("blocking_nodes/parallel", size, [=](benchmark::State& state) {
            parallelSleeps(state, size);
        })->UseRealTime();
        addFloor("blocking_nodes/parallel", size, oneSleep)->UseRealTime();
    }
}

}  // namespace bench
