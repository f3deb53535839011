#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

sg::CompiledGraph<State> build() {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State&) -> sg::Update<State> { return {sg::set(&State::foo, "x")}; });
    graph.addEdge(sg::START, "a");
    return graph.compile();
}
