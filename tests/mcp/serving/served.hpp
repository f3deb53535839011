#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/json.hpp>
#include <stategraph/mcp/server.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/gate.hpp"

// The tools that the tests serve.
namespace mcp_serving {

namespace sg = stategraph;
namespace agent = sg::agent;
namespace mcp = sg::mcp;
namespace model = sg::model;

struct Sum {
    std::int64_t a = 0;
    std::int64_t b = 0;
    static constexpr auto fields() { return sg::fields(sg::field("a", &Sum::a), sg::field("b", &Sum::b)); }
};

struct Trip {
    std::string city = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("city", &Trip::city), sg::channel("log", &Trip::log, sg::append));
    }
};
using TripGraph = sg::CompiledGraph<Trip>;

/// Looks, waits at a gate if there is one, asks if the city is "Rome", and books.
inline TripGraph tripGraph(std::shared_ptr<sg::BaseCheckpointSaver> saver, std::shared_ptr<gates::Gate> gate = {}) {
    sg::StateGraph<Trip> graph;
    graph.addNode("look", [gate](const Trip& trip, sg::Runtime& runtime) -> sg::Update<Trip> {
        runtime.write(sg::Value("looking at " + trip.city));
        if (gate) (void)gate->wait();
        return {sg::add(&Trip::log, std::vector<std::string>{"looked at " + trip.city})};
    });
    graph.addNode("book", [](const Trip& trip, sg::Runtime& runtime) -> sg::Update<Trip> {
        if (trip.city == "Atlantis") throw std::runtime_error("the password is swordfish");
        std::string how = "booked";
        if (trip.city == "Rome") how = sg::interrupt<std::string>(runtime, sg::Value("By train or by plane?"));
        return {sg::add(&Trip::log, std::vector<std::string>{how})};
    });
    graph.addEdge(sg::START, "look").addEdge("look", "book").addEdge("book", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

/// add, fail, count (with progress) and remove (with an approval).
inline void addTools(mcp::Server& server) {
    server.add(
        agent::tool<Sum>("add", {.description = "Adds two numbers"}, [](const Sum& sum) { return sum.a + sum.b; }));
    server.add(agent::tool<sg::Value>(
        "fail", {}, [](const sg::Value&) -> std::string { throw std::runtime_error("the disk is full"); }));
    server.add(agent::tool<sg::Value>("count", {}, [](const sg::Value&, agent::ToolContext& context) {
        for (int i = 1; i <= 3; ++i) context.write(sg::Value(i));
        return std::string("counted");
    }));
    server.add(agent::tool<sg::Value>("remove", {.description = "Removes everything", .approval = true},
                                      [](const sg::Value&) { return std::string("removed"); }));
}

}  // namespace mcp_serving
