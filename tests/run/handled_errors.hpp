#pragma once
#include <doctest/doctest.h>

#include <stategraph/json.hpp>

#include "tests/support/graphs.hpp"

// A graph with a node that fails and its error handler.
namespace handled_errors {

using namespace graphs;
using namespace std::chrono_literals;

inline auto breaks(Log& log, std::string name) {
    return [&log, name](const State&) -> Update {
        log.add(name);
        throw std::out_of_range(name + " is broken");
    };
}

inline auto handles(Log& log, std::string name = "handler") {
    return [&log, name](const State&, const sg::NodeFailure& failure) -> Update {
        log.add(name);
        return bar(failure.node + " failed (" + failure.error + ") after " + std::to_string(failure.attempts));
    };
}

inline const std::string text = "x failed (x is broken) after 1";

// START -> x (fails) -> next, and optionally START -> ok next to it.
inline Graph broken(Log& log, bool beside) {
    Graph graph;
    graph.addNode("x", breaks(log, "x"))
        .addNode("next", appends(log, "next"))
        .addEdge(sg::START, "x")
        .addEdge("x", "next");
    if (beside) graph.addNode("ok", appends(log, "ok")).addEdge(sg::START, "ok");
    return graph;
}

}  // namespace handled_errors
