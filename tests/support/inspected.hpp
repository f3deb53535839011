#pragma once
#include <memory>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

// A graph with everything that a tool must show: a router, a join, Sends, a goto, a deferred node, a question.
namespace inspected {

namespace sg = stategraph;

struct Order {
    std::string topic = {};
    std::vector<std::string> notes = {};
    int total = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("topic", &Order::topic), sg::channel("notes", &Order::notes, sg::append),
                            sg::channel("total", &Order::total, sg::sum));
    }
};
using Update = sg::Update<Order>;
using Command = sg::Command<Order>;
using App = sg::CompiledGraph<Order>;
using Graph = sg::StateGraph<Order>;

inline auto note(std::string text) {
    return [text](const Order&) -> Update { return {sg::add(&Order::notes, text)}; };
}

/// START → plan → left, right (edges) → gather (join); plan also routes to "price" twice by Send; gather → goto "ask";
/// ask asks and → END; "last" is deferred, after price.
inline Graph graph() {
    Graph graph;
    graph.addNode("plan", note("plan"))
        .addNode("left", note("left"))
        .addNode("right", note("right"))
        .addNode("price", [](const int& amount) -> Update { return {sg::add(&Order::total, amount)}; })
        .addNode("gather",
                 [](const Order&) -> Command {
                     return {.update = Update{sg::add(&Order::notes, std::string("gather"))}, .go_to = {"ask"}};
                 },
                 {.ends = std::vector<std::string>{"ask"}})
        .addNode("ask",
                 [](const Order& order, sg::Runtime& runtime) -> Update {
                     const auto answer =
                         sg::interrupt<std::string>(runtime, "Pay " + std::to_string(order.total) + "?");
                     return {sg::set(&Order::topic, answer), sg::add(&Order::notes, std::string("ask"))};
                 })
        .addNode("last", note("last"), {.defer = true})
        .addEdge(sg::START, "plan")
        .addEdge("plan", "left")
        .addEdge("plan", "right")
        .addConditionalEdges("plan",
                             [](const Order&) {
                                 return std::vector{sg::Send("price", 3), sg::Send("price", 4)};
                             },
                             {"price"})
        .addEdge(std::vector<std::string>{"left", "right"}, "gather")
        .addEdge("price", "last");
    return graph;
}

}  // namespace inspected
