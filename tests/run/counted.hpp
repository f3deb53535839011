#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <stategraph/interrupt.hpp>
#include <stategraph/saver.hpp>

#include "tests/support/graphs.hpp"

// A graph that counts what it executes, for tests of runs that are refused.
namespace counted {

using namespace graphs;

/// The graph START -> count -> ask, which asks a question if "foo" says so, or always.
struct Counted {
    bool always_asks = false;
    std::atomic<int> counts{0};
    std::atomic<int> asks{0};

    int all() const noexcept { return counts + asks; }
    App app(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, std::size_t warm_threads = 0) {
        Graph graph;
        graph.addNode("count", [this](const State& state) -> Update {
            ++counts;
            return bar("count:" + state.foo);
        });
        graph.addNode("ask", [this](const State& state, sg::Runtime& runtime) -> Update {
            ++asks;
            const bool is_asked = always_asks || state.foo == "asks";
            return bar(is_asked ? sg::interrupt<std::string>(runtime, "well?") : "ask");
        });
        graph.addEdge(sg::START, "count").addEdge("count", "ask");
        return graph.compile({.checkpointer = saver, .warm_threads = warm_threads});
    }
};

inline Update foo(std::string text) { return {sg::set(&State::foo, std::move(text))}; }

}  // namespace counted
