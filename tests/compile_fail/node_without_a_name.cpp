// EXPECT: stategraph: a node has a name: addNode(
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

sg::Update<State> plan(const State&);

void build(sg::StateGraph<State>& graph) { graph.addNode(plan); }
