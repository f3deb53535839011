// LangGraph's sequential: a row of nodes that do nothing, on a state of messages.
#include <memory>
#include <string>

#include <stategraph/messages.hpp>
#include <stategraph/stategraph.hpp>

#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

struct Messages {
    std::vector<sg::Message> messages = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Messages::messages>(sg::addMessages)); }
};

sg::StateGraph<Messages> rowOf(std::size_t size) {
    sg::StateGraph<Messages> graph;
    std::string last = sg::START;
    for (std::size_t i = 0; i < size; ++i) {
        const std::string name = "node_" + std::to_string(i);
        graph.addNode(name, [](const Messages&) {}).addEdge(last, name);
        last = name;
    }
    graph.addEdge(last, sg::END);
    return graph;
}

void row(benchmark::State& state, std::size_t size, Store store) {
    const auto graph = rowOf(size);
    const int limit = static_cast<int>(size) + 1;
    for (auto _ : state) {
        state.PauseTiming();
        const FreshSaver fresh(store);
        const auto app = graph.compile({.checkpointer = fresh.saver});
        state.ResumeTiming();
        const auto result = app.invoke(
            sg::Update<Messages>(), {.thread_id = "t", .durability = sg::Durability::exit, .recursion_limit = limit});
        if (!result.values.messages.empty()) state.SkipWithError("wrong result");
    }
}

}  // namespace

void registerCases() {
    for (const std::size_t size : {10, 100, 1000}) {
        if (quick() && size > 10) continue;
        add("sequential/no_saver", size, [=](benchmark::State& state) { row(state, size, Store::none); });
        add("sequential/checkpoint", size, [=](benchmark::State& state) { row(state, size, Store::memory); });
    }
}

}  // namespace bench
