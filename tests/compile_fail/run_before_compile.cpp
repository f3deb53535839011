// EXPECT: stategraph: a graph is compiled before it runs
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

std::string run(sg::StateGraph<State>& graph) {
    return graph.invoke({sg::set<&State::foo>("x")}, {.thread_id = "A"}).values.foo;
}
