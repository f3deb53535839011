// A router that sends up to a thousand tasks to one node, and a join of them (map and reduce).
#include "benchmarks/support/team.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

struct Item {
    int number = 0;
    static constexpr auto fields() { return sg::fields(sg::field("number", &Item::number)); }
};
constexpr sg::NodeId<Item> work{"work"};

void sends(benchmark::State& state, std::size_t size, std::optional<int> concurrency) {
    sg::StateGraph<Team> graph;
    graph.addNode(work, [](const Item& item) -> sg::Update<Team> { return {sg::add(&Team::done, item.number)}; })
        .addNode("join", countDone)
        .addConditionalEdges(sg::START,
                             [size](const Team&) {
                                 sg::Targets targets;
                                 for (std::size_t i = 0; i < size; ++i) targets.add(work(Item{static_cast<int>(i)}));
                                 return targets;
                             })
        .addEdge("work", "join")
        .addEdge("join", sg::END);
    const auto app = graph.compile();
    const sg::RunConfig config{.max_concurrency = concurrency};
    for (auto _ : state) {
        const auto result = app.invoke({}, config);
        if (result.values.count != static_cast<int>(size)) state.SkipWithError("wrong result");
    }
    state.counters["items"] = static_cast<double>(size);
}

void byHand(benchmark::State& state, std::size_t size) {
    std::vector<Worker> workers(size, workByHand);
    benchmark::DoNotOptimize(workers.data());
    for (auto _ : state) benchmark::DoNotOptimize(teamByHand(workers));
    state.counters["items"] = static_cast<double>(size);
}

}  // namespace

void registerCases() {
    for (const std::size_t size : {10, 100, 1000}) {
        add("send_1000/inline", size, [=](benchmark::State& state) { sends(state, size, 1); });
        addFloor("send_1000/inline", size, [=](benchmark::State& state) { byHand(state, size); });
        add("send_1000/pool", size, [=](benchmark::State& state) { sends(state, size, {}); })->UseRealTime();
    }
}

}  // namespace bench
