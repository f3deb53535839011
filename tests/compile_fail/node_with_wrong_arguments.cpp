// EXPECT: stategraph: a node must be callable as f(const State&) or f(const State&, sg::Runtime&)
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

void build(sg::StateGraph<State>& graph) {
    graph.addNode("a", [](const State&, int) -> sg::Update<State> { return {}; });
}
