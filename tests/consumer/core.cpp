// A program that links stategraph::core and nothing else of the library.
#include <iostream>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    int count = 0;
    static constexpr auto channels() { return sg::channels<&State::count>(); }
};

int main() {
    sg::StateGraph<State> graph;
    graph.addNode("add", [](const State& state) { return sg::set<&State::count>(state.count + 1); });
    graph.addEdge(sg::START, "add").addEdge("add", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto result = app.invoke({sg::set<&State::count>(1)}, {.thread_id = "1"});
    std::cout << result << '\n' << app.getState({.thread_id = "1"}).values.count << '\n';
    return result.values.count == 2 ? 0 : 1;
}
