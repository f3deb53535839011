#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"

// A graph and a server for it.
namespace langgraph_tests {

namespace json = boost::json;
namespace sg = stategraph;
using App = sg::CompiledGraph<sg::JsonState>;

/// A graph with the channels `log` and `name`, whose node `work` waits for a gate, if it has one, and may fail.
inline App makeApp(std::shared_ptr<sg::BaseCheckpointSaver> saver, std::shared_ptr<gates::Gate> gate = {}) {
    sg::JsonSchema schema;
    schema.channel("log", sg::JsonReducer::append()).channel("name");
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("first", [](const sg::JsonState& state) -> sg::Update<sg::JsonState> {
        return {sg::write("log", "first " + json::value_to<std::string>(state.at("name")))};
    });
    graph.addNode("work", [gate](const sg::JsonState& state) -> sg::Update<sg::JsonState> {
        const std::string name = json::value_to<std::string>(state.at("name"));
        if (gate) (void)gate->wait();
        if (name == "bad") throw std::runtime_error("the password is swordfish");
        return {sg::write("log", "work " + name)};
    });
    graph.addEdge(sg::START, "first").addEdge("first", "work").addEdge("work", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

/// For a machine that may pause anybody for seconds.
inline sg::serve::ServerOptions patient(sg::serve::ServerOptions options = {}) {
    options.request_timeout = std::chrono::minutes(5);
    options.write_timeout = std::chrono::minutes(5);
    return options;
}

/// A stream's body without the comments that a server sends while nothing happens.
inline std::string eventsIn(std::string body) {
    const std::string_view comment = ": heartbeat\n\n";
    for (std::size_t at = body.find(comment); at != std::string::npos; at = body.find(comment, at))
        body.erase(at, comment.size());
    return body;
}

/// A server of one graph, and one client.
struct Served {
    explicit Served(const App& app, sg::serve::ServerOptions options = {},
                    std::shared_ptr<sg::BaseStore> records = std::make_shared<sg::MemoryStore>())
        : store(std::move(records)), server(patient(std::move(options))) {
        sg::langgraph::serve(server, {{"app", sg::langgraph::graph(app)}}, {.store = store});
    }

    client::Response ask(std::string_view method, std::string_view target, std::string_view body = {},
                         std::string_view headers = {}) const {
        client::Connection connection(server.port());
        connection.request(method, target, body, headers);
        return connection.read();
    }
    json::value get(std::string_view target, std::string_view headers = {}) const {
        return json::parse(ask("GET", target, {}, headers).body);
    }
    std::string newThread(std::string_view headers = {}) const {
        return textOf(json::parse(ask("POST", "/threads", "{}", headers).body), "thread_id");
    }
    static std::string textOf(const json::value& of, const char* member) {
        return json::value_to<std::string>(of.at(member));
    }
    /// Waits until a run has ended, and returns what its joiners get.
    json::value join(const std::string& thread, const std::string& run) const {
        return get("/threads/" + thread + "/runs/" + run + "/join");
    }

    std::shared_ptr<sg::BaseStore> store;
    sg::serve::Server server;
};

}  // namespace langgraph_tests
