// EXPECT: stategraph: options have names: updateState(config, values, {.as_node = "node"})
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

void edit(const sg::CompiledGraph<State>& app) {
    app.updateState({.thread_id = "A"}, {sg::set<&State::foo>("x")}, "plan");
}
