#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

namespace {

struct State {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &State::n)); }
};

}  // namespace

// A function that a module of another language would call.
extern "C" int runGraph(int n) {
    sg::StateGraph<State> graph;
    graph.addNode("next", [](const State& state) -> sg::Update<State> { return {sg::set(&State::n, state.n + 1)}; });
    graph.addEdge(sg::START, "next").addEdge("next", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()})
        .invoke({sg::set(&State::n, n)}, {.thread_id = "t"})
        .values.n;
}
