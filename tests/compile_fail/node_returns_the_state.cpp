// EXPECT: stategraph: a node must return sg::Update<State>, sg::Command<State>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

void build(sg::StateGraph<State>& graph) {
    graph.addNode("plan", [](State state) {
        state.foo = "x";
        return state;
    });
}
