// EXPECT: stategraph: sg::Task needs #include <stategraph/async.hpp>
// THEN: traits|a node must be callable
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

void build(sg::StateGraph<State>& graph) {
    graph.addNode("node", [](const State&) -> sg::Task<sg::Update<State>> { co_return sg::Update<State>{}; });
}
