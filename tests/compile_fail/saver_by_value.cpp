// EXPECT: stategraph: savers are shared: .checkpointer = std::make_shared<sg::MemorySaver>()
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

sg::CompiledGraph<State> build(sg::StateGraph<State>& graph) {
    return graph.compile({.checkpointer = sg::MemorySaver()});
}
