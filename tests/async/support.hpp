#pragma once
#include <chrono>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>

#include "tests/support/graphs.hpp"

// Coroutine nodes for the tests' small state.
namespace graphs {

using namespace std::chrono_literals;
template <class T = void>
using Task = sg::Task<T>;

/// Appends `text` to bar after a wait.
inline auto appendsLater(std::string text, std::chrono::nanoseconds time = 1ms) {
    return [text, time](const State&) -> Task<Update> {
        co_await sg::sleepFor(time);
        co_return {sg::add(&State::bar, text)};
    };
}

/// START, then the nodes one after the other.
template <class... F>
Graph chainOf(F... nodes) {
    Graph graph;
    std::string before = sg::START;
    int number = 0;
    const auto add = [&](auto node) {
        const std::string name = "n" + std::to_string(++number);
        graph.addNode(name, std::move(node)).addEdge(before, name);
        before = name;
    };
    (add(std::move(nodes)), ...);
    graph.addEdge(before, sg::END);
    return graph;
}

/// Two threads.
inline std::shared_ptr<sg::Executor> twoThreads() { return std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 2}); }

}  // namespace graphs
