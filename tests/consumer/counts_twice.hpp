#pragma once
#include <memory>

#include <stategraph/stategraph.hpp>

// A graph that counts, run twice on one thread of a saver. Ends the program with 0 if the second run continued the
// first.
struct Counted {
    int count = 0;
    static constexpr auto channels() { return stategraph::channels<&Counted::count>(); }
};

inline int countsTwice(const std::shared_ptr<stategraph::BaseCheckpointSaver>& saver) {
    stategraph::StateGraph<Counted> graph;
    graph.addNode("add", [](const Counted& s) { return stategraph::set<&Counted::count>(s.count + 1); });
    graph.addEdge(stategraph::START, "add").addEdge("add", stategraph::END);
    const auto app = graph.compile({.checkpointer = saver});
    const int before = app.getState({.thread_id = "1"}).values.count;
    app.invoke({stategraph::set<&Counted::count>(before + 1)}, {.thread_id = "1"});
    app.invoke({stategraph::set<&Counted::count>(before + 10)}, {.thread_id = "1"});
    return app.getState({.thread_id = "1"}).values.count == before + 11 ? 0 : 1;
}
