#pragma once
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/graphs.hpp"

/// A graph whose input determines what its thread waits for in the end.
namespace waiting {

namespace sg = stategraph;

/// Inputs and the status that the index of threads must then have; "stop" is the node before which the run stops.
inline const std::vector<std::pair<std::string, sg::Status>> outcomes{
    {"ends", sg::Status::done},
    {"asks", sg::Status::interrupted},
    {"two ask", sg::Status::interrupted},
    {"fails", sg::Status::failed},
    {"one asks, one fails", sg::Status::failed},
    {"one asks, one sleeps", sg::Status::sleeping},
    {"sleeps", sg::Status::sleeping},
    {"breaks", sg::Status::breakpoint},
    {"turns", sg::Status::limit},
};

inline graphs::Update begin(const std::string& what) { return {sg::set(&graphs::State::foo, what)}; }

inline graphs::Update act(const std::string& how, sg::Runtime& rt) {
    if (how == "asks") return graphs::bar(sg::interrupt<std::string>(rt, "?"));
    if (how == "fails") throw std::runtime_error("broken");
    if (how == "sleeps") rt.sleepUntil(std::chrono::system_clock::now() + std::chrono::hours(1), "s");
    return graphs::bar(how);
}

inline sg::Send send(std::string how) { return {"act", std::move(how)}; }

/// START -> a -> the node that the input names -> END.
inline graphs::Graph waitingGraph() {
    graphs::Graph graph;
    graph.addNode("a", [](const graphs::State&) { return graphs::bar("a"); });
    graph.addNode("act", [](const std::string& how, sg::Runtime& rt) { return act(how, rt); });
    graph.addNode("stop", [](const graphs::State&) { return graphs::bar("stop"); });
    graph.addNode("turn", [](const graphs::State&) { return graphs::bar("turn"); });
    graph.addEdge(sg::START, "a");
    graph.addConditionalEdges("turn",
                              [](const graphs::State& state) -> std::string {
                                  return state.foo == "turns" ? std::string("turn") : std::string(sg::END);
                              },
                              {"turn", sg::END});
    graph.addConditionalEdges("a",
                              [](const graphs::State& state) -> std::vector<sg::Target> {
                                  const std::string& what = state.foo;
                                  if (what == "breaks") return {"stop"};
                                  if (what == "turns") return {"turn"};
                                  if (what == "two ask") return {send("asks"), send("asks")};
                                  if (what == "one asks, one fails") return {send("asks"), send("fails")};
                                  if (what == "one asks, one sleeps") return {send("asks"), send("sleeps")};
                                  return {send(what)};
                              },
                              {"act", "stop", "turn"});
    return graph;
}

}  // namespace waiting
