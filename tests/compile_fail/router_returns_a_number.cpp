// EXPECT: stategraph: a router must return a node's name, a sg::Send, a list of either, or sg::Targets
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

void build(sg::StateGraph<State>& graph) {
    graph.addConditionalEdges("a", [](const State&) { return 42; });
}
