// EXPECT: stategraph: an error handler must be callable as f(const State&, const sg::NodeFailure&)
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

void build(sg::StateGraph<State>& graph) {
    graph.onError("a", [](const State&) -> sg::Update<State> { return {}; });
}
