// EXPECT: stategraph: a router must be callable as f(const State&)
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

void build(sg::StateGraph<State>& graph) {
    graph.addConditionalEdges("a", [](int) { return "b"; });
}
