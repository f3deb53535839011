#pragma once
#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/json.hpp>

#include "tests/support/caches.hpp"
#include "tests/support/graphs.hpp"

// A graph with a cached node.
namespace cached_nodes {

using namespace graphs;
using namespace std::chrono_literals;

inline std::shared_ptr<sg::MemoryCache> newCache() { return std::make_shared<sg::MemoryCache>(); }

inline Update foo(std::string text) { return {sg::set(&State::foo, std::move(text))}; }

// The graph START -> a -> after, where a is cached.
inline Graph line(Log& log, const sg::NodeOptions& options) {
    Graph graph;
    graph.addNode("a", appends(log, "a"), options).addNode("after", appends(log, "after"));
    graph.addEdge(sg::START, "a").addEdge("a", "after");
    return graph;
}

// The updates of a run as JSON, in their order.
inline Strings updatesOf(const App& app, Update input, const sg::RunConfig& config = {}) {
    Strings seen;
    app.stream(std::move(input), config, {.modes = {sg::StreamMode::updates}},
               [&](const sg::StreamEvent& event) { seen.push_back(event.data.toJson()); });
    return seen;
}

}  // namespace cached_nodes
