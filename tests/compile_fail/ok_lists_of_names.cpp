#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

void build(sg::StateGraph<State>& graph) {
    static constexpr sg::NodeId<std::string> work{"work"};
    const auto go = [](const State&) { return sg::go("b"); };
    graph.addNode("a", go, {.ends = {"b", work}}).addNode("b", go, {.ends = "a"});
    graph.addNode(work, [](const std::string&) {});
    graph.onError("a", [](const State&, const sg::NodeFailure&) {}, {"b", "work"});
    graph.addConditionalEdges("b", [](const State&) { return "yes"; }, {{"yes", "a"}, {"no", work}});
    graph.addConditionalEdges("b", [](const State&) { return "a"; }, {"a", work});
    graph.addEdge({"a", "b"}, "work");
    const auto app = graph.compile({.interrupt_before = {"a", "b"}, .interrupt_after = "*"});
    app.invoke({}, {.interrupt_before = {"a", work}, .interrupt_after = sg::NodeNames::none()});
    app.clearCache({"a", "b"});
}
