#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/stategraph.hpp>

#include "langgraph/live_runs.hpp"
#include "langgraph/records.hpp"
#include "langgraph/service.hpp"
#include "tests/langgraph/manual_time.hpp"
#include "tests/langgraph/served_app.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/until.hpp"

// A server whose time a test moves.
namespace langgraph_tests {

/// What servers have in common that are started one after the other, or at once.
struct Surroundings {
    explicit Surroundings(std::string_view now) : time(std::make_shared<ManualTime>(now)) {}

    std::shared_ptr<ManualTime> time;
    std::shared_ptr<sg::BaseStore> store = std::make_shared<sg::MemoryStore>();
    std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>();
    std::shared_ptr<std::atomic<int>> runs = std::make_shared<std::atomic<int>>(0);  // that have done their work
    std::shared_ptr<sg::langgraph::WebhookSender> webhooks = {};
    sg::serve::ServerOptions server = {};
};

inline App countingApp(const Surroundings& in) {
    sg::JsonSchema schema;
    schema.channel("log", sg::JsonReducer::append()).channel("name");
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("work", [runs = in.runs](const sg::JsonState& state) -> sg::Update<sg::JsonState> {
        const json::value* const name = state.find("name");
        ++*runs;
        if (name != nullptr && *name == json::value("bad")) throw std::runtime_error("it went wrong");
        return {sg::write("log", "worked")};
    });
    graph.addEdge(sg::START, "work").addEdge("work", sg::END);
    return graph.compile({.checkpointer = in.saver});
}

struct Timed {
    explicit Timed(const Surroundings& in) : in_(in), server(patient(in.server)) {
        service =
            sg::langgraph::startService(server, {{"app", sg::langgraph::graph(countingApp(in))}},
                                        {.store = in.store, .webhooks = in.webhooks, .webhook_tries_max = 3}, in.time);
    }

    client::Response ask(std::string_view method, std::string_view target, const json::value& body = {},
                         std::string_view headers = {}) const {
        client::Connection connection(server.port());
        connection.request(method, target, body.is_null() ? std::string() : json::serialize(body), headers);
        return connection.read();
    }
    json::value post(std::string_view target, const json::value& body, std::string_view headers = {}) const {
        return json::parse(ask("POST", target, body, headers).body);
    }
    json::value get(std::string_view target, std::string_view headers = {}) const {
        return json::parse(ask("GET", target, {}, headers).body);
    }
    /// Waits until all runs have ended that were begun, and some in all have done their work.
    void awaitRuns(int count) const {
        patience::until([&] { return *in_.runs >= count && service->records.openRuns().empty(); });
    }
    static std::string textOf(const json::value& of, const char* member) {
        return json::value_to<std::string>(of.at(member));
    }

private:
    const Surroundings& in_;

public:
    sg::serve::Server server;
    std::shared_ptr<sg::langgraph::Service> service;
};

}  // namespace langgraph_tests
