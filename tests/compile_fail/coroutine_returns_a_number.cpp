// EXPECT: or a sg::Task of one of these
#include <stategraph/async.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &State::n)); }
};

void build() {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State&) -> sg::Task<int> { co_return 1; });
}
