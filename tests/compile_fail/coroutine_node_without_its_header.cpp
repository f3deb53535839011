// EXPECT: stategraph: a node that is a coroutine needs #include <stategraph/async.hpp>
// A header such as that of agents has Task, but not what runs a node of it.
#include <stategraph/graph.hpp>
#include <stategraph/task.hpp>

struct State {
    int n = 0;
    static constexpr auto channels() { return stategraph::channels(stategraph::channel<&State::n>()); }
};

int main() {
    stategraph::StateGraph<State> graph;
    graph.addNode("a", [](const State&) -> stategraph::Task<stategraph::Update<State>> {
        co_return stategraph::Update<State>{};
    });
}
