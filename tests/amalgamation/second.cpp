// The same header in a second file of one program: whatever is defined in it is defined once.
#include "stategraph.hpp"

namespace sg = stategraph;

int countedElsewhere();

namespace {
struct Count {
    int count = 0;
    static constexpr auto channels() { return sg::channels(sg::channel<&Count::count>(sg::sum)); }
};
}  // namespace

int countedElsewhere() {
    sg::StateGraph<Count> graph;
    graph.addNode("one", [](const Count&) { return sg::add<&Count::count>(1); });
    graph.addEdge(sg::START, "one").addConditionalEdges("one", [](const Count& state) {
        return state.count < 3 ? "one" : sg::END;
    });
    return graph.compile().invoke({}).values.count;
}
