// EXPECT: stategraph: the value of an untracked channel must be copyable, as tasks that run at once have a state each; hold what is not by a std::shared_ptr
#include <memory>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::unique_ptr<int> socket = {};
    int n = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("socket", &State::socket, sg::untracked), sg::channel("n", &State::n));
    }
};

void compile() {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State&) -> sg::Update<State> { return {sg::set(&State::n, 1)}; });
    graph.addEdge(sg::START, "a");
    graph.compile();
}
