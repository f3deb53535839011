#pragma once
#include <atomic>

#include <stategraph/executor.hpp>

#include "tests/async/support.hpp"
#include "tests/support/caches.hpp"
#include "tests/support/until.hpp"

// Graphs with equal tasks of which only one is to run.
namespace cache_flights {

using namespace graphs;
using namespace std::chrono_literals;

using sg::Status;

/// Counts the tasks that are about to query the cache, and the calls of the node.
struct Counts {
    std::atomic<int> begun = 0;
    std::atomic<int> calls = 0;

    void awaitBegun(int number) const {
        patience::until([&] { return begun >= number; });
    }
    sg::CachePolicy policy() {
        sg::CachePolicy policy;
        policy.key = [this](const State& state) {
            ++begun;
            return state.foo;
        };
        return policy;
    }
};

/// The graph START -> a, where a calls `body(number of the call)`.
template <class F>
Graph lone(Counts& counts, F body, sg::NodeOptions options = {}) {
    Graph graph;
    options.cache = counts.policy();
    graph.addNode(
        "a", [&counts, body](const State&) -> Update { return body(++counts.calls); }, options);
    graph.addEdge(sg::START, "a");
    return graph;
}

template <class F>
void atOnce(int threads, F call) {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back([call, i] { call(i); });
}

}  // namespace cache_flights
