// The smallest program: one graph of one node, linked statically. The workload `size` measures its file, how long it
// takes until it has its result, and what of it is in memory then. It ends with its input.
#include <cstdio>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &State::n)); }
};

int main() {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State& s) -> sg::Update<State> { return {sg::set(&State::n, s.n + 1)}; });
    graph.addEdge(sg::START, "a").addEdge("a", sg::END);
    const auto result = graph.compile().invoke({sg::set(&State::n, 1)});
    std::printf("%d\n", result.values.n);
    std::fflush(stdout);
    (void)std::getchar();
}
