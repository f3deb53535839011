#pragma once
#include <stategraph/stategraph.hpp>

namespace bench {

/// The smallest state.
struct Counter {
    int n = 0;
    static constexpr auto channels() { return stategraph::channels(stategraph::channel("n", &Counter::n)); }
};

inline stategraph::Update<Counter> countOne(const Counter& s) { return {stategraph::set(&Counter::n, s.n + 1)}; }

/// Returns a graph with one node that counts, and repeats itself until `limit`.
inline stategraph::StateGraph<Counter> loopGraph(int limit) {
    stategraph::StateGraph<Counter> graph;
    graph.addNode("a", countOne).addEdge(stategraph::START, "a").addConditionalEdges("a", [limit](const Counter& s) {
        return s.n < limit ? "a" : stategraph::END;
    });
    return graph;
}

/// The node and the router of the hand-written version: functions that the compiler cannot see through.
using CounterNode = Counter (*)(const Counter&);
using CounterRouter = bool (*)(const Counter&);
inline Counter countByHand(const Counter& s) { return {s.n + 1}; }

}  // namespace bench
