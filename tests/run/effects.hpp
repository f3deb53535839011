#pragma once
#include <chrono>

#include <doctest/doctest.h>

#include "tests/support/graphs.hpp"

// A graph whose node has an effect.
namespace effects {

using namespace graphs;
using namespace std::chrono_literals;

/// Thrown instead of ending the process, where only the test catches it.
struct Killed {};

/// START -> pay, which pays once and then calls the test's function.
template <class F>
App payer(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, F node, const sg::NodeOptions& options = {}) {
    Graph graph;
    graph.addNode("pay", node, options).addEdge(sg::START, "pay");
    return graph.compile({.checkpointer = saver});
}

inline sg::NodeOptions retries(int attempts) {
    return {.retry = {.max_attempts = attempts,
                      .initial_interval = 0ms,
                      .jitter = false,
                      .retry_on = [](const std::exception_ptr&) { return true; }}};
}

inline const sg::RunConfig T{.thread_id = "t"};

}  // namespace effects
