#pragma once
#include <array>
#include <memory>
#include <utility>

#include "tests/async/support.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/later_saver.hpp"

// A graph for runs with a saver that answers later.
namespace graphs {

/// Two nodes at once, one of them a graph with a question, and one after them.
inline App wide(std::shared_ptr<sg::BaseCheckpointSaver> saver, bool blocks = false) {
    Graph inside;
    inside.addNode("ask", [](const State&, sg::Runtime& runtime) -> Task<Update> {
        co_return {sg::add(&State::bar, "answer " + sg::interrupt<std::string>(runtime, "what?"))};
    });
    inside.addEdge(sg::START, "ask");
    Graph graph;
    if (blocks) {
        graph.addNode("a", appends("a"));
    } else {
        graph.addNode("a", appendsLater("a", 10us));
    }
    graph.addNode("b", appendsLater("b", 10us))
        .addNode("c", appendsLater("c", 10us))
        .addNode("inside", inside.compile());
    graph.addNode("end", appendsLater("end", 10us));
    for (const char* name : {"a", "b", "c", "inside"}) graph.addEdge(sg::START, name);
    graph.addEdge(Strings{"a", "b", "c", "inside"}, "end").addEdge("end", sg::END);
    return graph.compile({.checkpointer = std::move(saver), .ids = FixedIds::make()});
}

inline bool isAwaited(const drivers::Driver& driver) { return driver.name.starts_with("async"); }

inline constexpr std::array durabilities{sg::Durability::sync, sg::Durability::async, sg::Durability::exit};

}  // namespace graphs
