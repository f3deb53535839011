#pragma once
#include <string>

#include <stategraph/stategraph.hpp>

namespace bench {

/// A small state: two numbers and a word.
struct Ticket {
    int n = 0;
    double price = 0;
    std::string state = {};
    static constexpr auto channels() {
        return stategraph::channels(stategraph::channel("n", &Ticket::n), stategraph::channel("price", &Ticket::price),
                                    stategraph::channel("state", &Ticket::state));
    }
};

/// Returns a graph with three supersteps, each of which writes the whole state.
inline stategraph::CompiledGraph<Ticket> shortGraph(std::shared_ptr<stategraph::BaseCheckpointSaver> saver) {
    namespace sg = stategraph;
    sg::StateGraph<Ticket> graph;
    const auto node = [](const char* word) {
        return [word](const Ticket& s) -> sg::Update<Ticket> {
            return {sg::set(&Ticket::n, s.n + 1), sg::set(&Ticket::price, s.price + 0.5),
                    sg::set(&Ticket::state, word)};
        };
    };
    graph.addSequence("open", node("opened"), "price", node("priced"), "close", node("closed"))
        .addEdge(sg::START, "open")
        .addEdge("close", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

}  // namespace bench
