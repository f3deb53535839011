#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/serve/workflow_endpoint.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"

// What clients are told of errors, and what the log has.
using namespace tools;
namespace serve = stategraph::serve;
namespace wf = stategraph::workflow;
namespace json = boost::json;

namespace {

constexpr const char* secret = "no answer from 10.0.0.7 with key sk-live-12345";

/// The lines of a server's log.
class Lines {
public:
    serve::Log log() {
        return [this](std::string_view line) {
            const std::lock_guard lock(mutex_);
            lines_.emplace_back(json::parse(line).as_object());
        };
    }
    std::vector<json::object> errors() const {
        const std::lock_guard lock(mutex_);
        std::vector<json::object> all;
        for (const json::object& each : lines_) {
            if (each.at("event") == "error") all.push_back(each);
        }
        return all;
    }

private:
    mutable std::mutex mutex_;
    std::vector<json::object> lines_;
};

std::vector<serve::Protocol> allProtocols() {
    const sg::StreamModes modes{sg::StreamMode::updates,     sg::StreamMode::values, sg::StreamMode::tasks,
                                sg::StreamMode::checkpoints, sg::StreamMode::debug,  sg::StreamMode::messages,
                                sg::StreamMode::runs};
    return {serve::ownEvents(modes), serve::stepEvents({.tools = {{"work", "work"}}}), serve::uiMessages()};
}

/// The first node succeeds, so that the failure of the second one is told in a stream.
sg::CompiledGraph<served::State> failing() {
    using served::State;
    sg::StateGraph<State> graph;
    graph.addNode("first", [](const State&) -> sg::Update<State> { return {sg::add(&State::said, std::string("a"))}; });
    graph.addNode("vault", [](const State&) -> sg::Update<State> { throw std::runtime_error(secret); });
    graph.addEdge(sg::START, "first").addEdge("first", "vault").addEdge("vault", sg::END);
    return graph.compile(stored());
}

agent::Agent withModel(bool model_fails) {
    agent::Tool fails =
        agent::tool<Job>("work", {}, [](const Job&) -> std::string { throw std::runtime_error(secret); });
    return agent::Agent({.model = model::scripted([model_fails](const model::Request& request) {
                             if (request.messages.back().role == model::Role::user)
                                 return model::assistant({call("c", "it")});
                             if (model_fails) throw std::runtime_error(secret);
                             return model::assistant("done");
                         }),
                         .tools = {std::move(fails)},
                         .compile = stored()});
}

wf::Workflow<int, int> failingFlow() {
    return wf::workflow<int>("w")
        .then(wf::step("first", [](const int& n) { return n; }))
        .then(wf::step("vault", [](const int&) -> int { throw std::runtime_error(secret); }))
        .commit(stored());
}

struct Served {
    explicit Served(serve::ServerOptions options) : server(std::move(options)) {
        server.add("g", serve::endpoint(failing(), {.protocols = allProtocols()}));
        server.add("m", serve::endpoint(withModel(true), {.protocols = allProtocols()}));
        server.add("t", serve::endpoint(withModel(false), {.protocols = allProtocols()}));
        server.add("w", serve::endpoint(failingFlow().flow(), {.protocols = allProtocols()}));
    }
    std::string start(const std::string& endpoint, const std::string& protocol) {
        const std::string body =
            endpoint == "g" ? R"({"input":{}})" : (endpoint == "w" ? R"({"input":1})" : R"({"text":"go"})");
        return client::post(server.port(), "/" + endpoint + "/" + protocol + "/start?protocol=" + protocol, body).body;
    }
    std::string get(const std::string& target) { return client::get(server.port(), target).body; }
    serve::Server server;
};

/// The numbers that a client was told.
std::set<std::string> numbersIn(const std::string& body) {
    std::set<std::string> numbers;
    const std::string before = "failed; error ";
    for (std::size_t at = body.find(before); at != std::string::npos; at = body.find(before, at + 1))
        numbers.insert(body.substr(at + before.size(), 12));
    return numbers;
}

}  // namespace

TEST_CASE("a client is told the number of an error in each protocol, state and history, and the log has its text") {
    Lines lines;
    serve::ServerOptions options;
    options.log = lines.log();
    Served served(options);
    for (const std::string endpoint : {"g", "m", "t", "w"}) {
        for (const std::string protocol : {"events", "steps", "ui"}) {
            CAPTURE(endpoint);
            CAPTURE(protocol);
            std::string told = served.start(endpoint, protocol);
            const bool says_nothing_of_tools = endpoint == "t" && protocol == "steps";
            CHECK(numbersIn(told).empty() == says_nothing_of_tools);
            for (const std::string what : {"state", "history", "events?from=0"})
                told += served.get("/" + endpoint + "/" + protocol + "/" + what);
            CHECK(told.find("10.0.0.7") == std::string::npos);
            CHECK(told.find("sk-live") == std::string::npos);
            CHECK(!numbersIn(told).empty());
            for (const std::string& number : numbersIn(told)) {
                CAPTURE(number);
                int found = 0;
                for (const json::object& error : lines.errors()) {
                    if (error.at("number") != json::string(number)) continue;
                    ++found;
                    CHECK(std::string(error.at("text").as_string()).find(secret) != std::string::npos);
                    CHECK(error.at("endpoint") == json::string(endpoint));
                    CHECK(error.at("thread") == json::string(protocol));
                }
                CHECK(found == 1);
            }
        }
    }
}

TEST_CASE("clients are told the texts of errors where the server shows them") {
    serve::ServerOptions options;
    options.show_errors = true;
    Served served(options);
    for (const std::string endpoint : {"g", "m", "t", "w"}) {
        CAPTURE(endpoint);
        for (const std::string protocol : {"events", "steps", "ui"})
            CHECK((served.start(endpoint, protocol).find(secret) != std::string::npos) ==
                  (endpoint != "t" || protocol != "steps"));
        CHECK(served.get("/" + endpoint + "/steps/state").find(secret) != std::string::npos);
    }
}

TEST_CASE("what a client did wrong is told as it is, and a failure of the server with its number") {
    Lines lines;
    serve::ServerOptions options;
    options.log = lines.log();
    serve::Server server(options);
    server.add("g", serve::endpoint(failing()));
    server.handle("h", [](const serve::HandlerRequest&) -> serve::HandlerAnswer { throw std::runtime_error(secret); });
    const auto wrong = client::post(server.port(), "/g/t/start", R"({"input":{"nothing":1}})");
    CHECK(wrong.status == 400);
    CHECK(wrong.body.find("nothing") != std::string::npos);
    CHECK(client::get(server.port(), "/g/t/history?limit=x").body.find("limit must be") != std::string::npos);
    CHECK(lines.errors().empty());
    const auto failed = client::get(server.port(), "/h/x");
    CHECK(failed.status == 500);
    CHECK(failed.body.find(secret) == std::string::npos);
    REQUIRE(lines.errors().size() == 1);
    const std::string number(lines.errors().front().at("number").as_string());
    CHECK(failed.body == "{\"error\":\"the server failed to answer; error " + number + "\"}\n");
    CHECK(lines.errors().front().at("text") == json::string(secret));
}
