// EXPECT: stategraph: an error handler must return sg::Update<State>, sg::Command<State>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

void build(sg::StateGraph<State>& graph) {
    graph.onError("a", [](const State&, const sg::NodeFailure&) { return 42; });
}
