// EXPECT: stategraph: a graph that is a node is compiled: addNode(name, inner.compile())
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

void build(sg::StateGraph<State>& graph, sg::StateGraph<State>& inner) { graph.addNode("inner", inner); }
