#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/ag_ui_client.hpp"
#include "tests/serve/ag_ui_served.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

// The protocol "ag-ui", read by a client that is as strict as @ag-ui/client.
using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;
using ag_ui::textAt;
using patience::eventually;

namespace {

using Texts = std::vector<std::string>;

/// A server of the agent, and a page.
struct AgUiGarden {
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
    serve::Server server;
    ag_ui::Client page;

    explicit AgUiGarden(const std::shared_ptr<gates::Gate>& gate = nullptr) {
        serve::EndpointOptions options;
        options.protocols = {serve::ownEvents(), serve::agUiEvents()};
        server.add("garden", serve::endpoint(ag_ui::gardener(ledger, gate), options));
    }
    void run(json::array resume = {}) { page.run(server.port(), "/garden/ag-ui", std::move(resume)); }
    /// Another page, with nothing but the thread's name.
    ag_ui::Client loaded() const {
        ag_ui::Client other;
        other.run(server.port(), "/garden/ag-ui");
        return other;
    }
};

json::array resumed(const std::string& id, json::value payload) {
    return {json::value{{"interruptId", id}, {"status", "resolved"}, {"payload", std::move(payload)}}};
}

/// A server of the graph, and a page.
struct Talking {
    serve::Server server;
    ag_ui::Client page;

    explicit Talking(serve::ServerOptions options = {}) : server(std::move(options)) {
        server.add("talk", serve::endpoint(ag_ui::talking(), {.protocols = {serve::agUiEvents()}}));
    }
    void run(json::array resume = {}) { page.run(server.port(), "/talk/ag-ui", std::move(resume)); }
};

}  // namespace

TEST_CASE("a turn of an agent is texts, thoughts, calls and steps of AG-UI, and a question ends it as an interrupt") {
    AgUiGarden garden;
    garden.page.say("m1", "burn it");
    garden.run();
    CHECK(garden.page.response.headers.at("content-type").starts_with("text/event-stream"));
    CHECK(textAt(garden.page.outcome, "type") == "interrupt");
    const json::array& interrupts = garden.page.outcome.at("interrupts").as_array();
    REQUIRE(interrupts.size() == 1);
    const json::object& question = interrupts[0].as_object();
    CHECK(textAt(question, "reason") == "tool-approval");
    CHECK(question.at("responseSchema").as_object().contains("properties"));
    CHECK(garden.page.texts() ==
          Texts{"user:burn it", "reasoning:they want fire", "assistant:I begin.", "tool:did dig"});
    const json::array& calls = garden.page.messages[2].as_object().at("toolCalls").as_array();
    REQUIRE(calls.size() == 2);
    CHECK(calls[1].at("id") == question.at("toolCallId"));
    CHECK(calls[1].at("function").at("arguments") == R"({"what":"burn"})");
    const auto has = [&](const char* kind) { return std::ranges::count(garden.page.kinds, kind) > 0; };
    CHECK(has("STEP_STARTED"));
    CHECK(has("STATE_SNAPSHOT"));
    // The results of a superstep that has not ended are in no state yet.
    CHECK(!has("MESSAGES_SNAPSHOT"));
    CHECK(garden.ledger->count("burn") == 0);
}

TEST_CASE("an answer of an AG-UI client continues the turn, and its messages keep their order and their ids") {
    for (const bool approves : {true, false}) {
        CAPTURE(approves);
        AgUiGarden garden;
        garden.page.say("m1", "burn it");
        garden.run();
        const json::value payload = approves ? json::value(true) : json::value{{"approved", false}, {"reason", "no"}};
        const std::string id = garden.page.firstInterrupt();
        garden.run(resumed(id, payload));
        CHECK(textAt(garden.page.outcome, "type") == "success");
        CHECK(garden.page.texts() == Texts{"user:burn it", "reasoning:they want fire", "assistant:I begin.",
                                           "tool:did dig",
                                           approves ? "tool:did burn" : "tool:Error: The call was not approved: no",
                                           "assistant:All is done."});
        CHECK(garden.page.messages[0].at("id") == "m1");
        CHECK(garden.ledger->count("burn") == (approves ? 1 : 0));
        CHECK(garden.page.state.at("stop_reason") == "stop");
        garden.run(resumed(id, payload));
        CHECK(garden.page.response.status == 409);
        CHECK(garden.loaded().messages == garden.page.messages);
    }
}

TEST_CASE("a cancelled answer declines a call") {
    AgUiGarden garden;
    garden.page.say("m1", "burn it");
    garden.run();
    garden.run({json::value{{"interruptId", garden.page.firstInterrupt()}, {"status", "cancelled"}}});
    CHECK(textAt(garden.page.outcome, "type") == "success");
    CHECK(garden.ledger->count("burn") == 0);
}

TEST_CASE("a call of an AG-UI client's tool is pending, and a message of the client answers it") {
    AgUiGarden garden;
    garden.page.say("m1", "look");
    garden.run();
    CHECK(textAt(garden.page.outcome, "type") == "success");
    const json::array pending = garden.page.outcome.at("pendingToolCallIds").as_array();
    REQUIRE(pending.size() == 1);
    CHECK(garden.loaded().outcome.at("pendingToolCallIds") == pending);
    garden.page.messages.push_back(
        {{"id", "r1"}, {"role", "tool"}, {"toolCallId", pending[0]}, {"content", "a meadow"}});
    garden.run();
    CHECK(textAt(garden.page.outcome, "type") == "success");
    CHECK(garden.page.texts() == Texts{"user:look", "assistant:", "tool:a meadow", "assistant:All is done."});
    garden.page.messages.erase(garden.page.messages.end() - 1);
    garden.run();
    CHECK(garden.page.response.status == 409);
}

TEST_CASE("a page that is loaded receives state, conversation and questions without a run, and can answer") {
    AgUiGarden garden;
    garden.page.say("m1", "burn it");
    garden.run();
    ag_ui::Client other = garden.loaded();
    CHECK(other.kinds == Texts{"RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"});
    CHECK(other.messages == garden.page.messages);
    CHECK(other.state == garden.page.state);
    CHECK(other.outcome == garden.page.outcome);
    other.run(garden.server.port(), "/garden/ag-ui", resumed(other.firstInterrupt(), true));
    CHECK(textAt(other.outcome, "type") == "success");
    CHECK(other.texts().back() == "assistant:All is done.");
    other.say("m2", "well");
    other.run(garden.server.port(), "/garden/ag-ui");
    CHECK(other.texts().back() == "assistant:I hear: well");
    CHECK(garden.loaded().messages == other.messages);

    ag_ui::Client nobody;
    nobody.thread = "unknown";
    nobody.run(garden.server.port(), "/garden/ag-ui");
    CHECK(nobody.kinds == Texts{"RUN_STARTED", "RUN_FINISHED"});
}

TEST_CASE("an AG-UI client that leaves loses nothing: a page that is loaded follows the run to its end") {
    const auto gate = std::make_shared<gates::Gate>();
    AgUiGarden garden(gate);
    garden.page.say("m1", "hello");
    client::Connection leaves(garden.server.port());
    leaves.request("POST", "/garden/ag-ui", garden.page.body());
    CHECK(leaves.head().status == 200);
    leaves.close();
    CHECK(eventually([&] { return garden.server.connections() == 0; }));
    CHECK(garden.server.runs() == 1);
    ag_ui::Client other;
    client::Connection stays(garden.server.port());
    stays.request("POST", "/garden/ag-ui", other.body());
    const client::Response head = stays.head();
    CHECK(head.status == 200);
    gate->open();
    client::Response rest;
    for (std::string piece = stays.chunk(); !piece.empty(); piece = stays.chunk()) rest.body += piece;
    other.read(rest);
    CHECK(other.texts() == Texts{"user:hello", "assistant:I hear: hello"});
    // The same message again is the same turn.
    garden.run();
    CHECK(garden.page.texts() == other.texts());
}

TEST_CASE("an AG-UI client is told of errors: those of its requests by a status, those of a run at its end") {
    AgUiGarden garden;
    const auto port = garden.server.port();
    CHECK(client::post(port, "/garden/ag-ui", R"({"threadId":"t","messages":[]})").status == 400);
    CHECK(client::post(port, "/garden/ag-ui", R"({"threadId":"t","runId":"r","messages":5})").status == 400);
    CHECK(client::post(port, "/garden/ag-ui", "[").status == 400);
    CHECK(client::get(port, "/garden/ag-ui").status == 405);
    garden.page.say("m1", "hello");
    garden.run(resumed("nothing", true));
    CHECK(garden.page.response.status == 409);
    CHECK(garden.page.response.body.find("no question 'nothing' of the thread 't' waits") != std::string::npos);
    garden.page.messages.clear();
    garden.page.say("m1", "fail");
    garden.run();
    CHECK(garden.page.response.status == 200);
    CHECK(textAt(garden.page.ended, "type") == "RUN_ERROR");
    CHECK(textAt(garden.page.ended, "code") == "failed");
    CHECK(garden.page.response.body.find("swordfish") == std::string::npos);
    // To load the page afterwards is no failure.
    ag_ui::Client other = garden.loaded();
    CHECK(textAt(other.ended, "type") == "RUN_FINISHED");
    CHECK(other.texts() == Texts{"user:fail"});
}

TEST_CASE("a graph with messages serves AG-UI: its state in changes, and only what the client changed is written") {
    Talking talking;
    talking.page.say("m1", "one");
    talking.run();
    CHECK(textAt(talking.page.outcome, "type") == "success");
    CHECK(talking.page.texts() == Texts{"user:one", "assistant:heard 1"});
    CHECK(talking.page.state == json::parse(R"({"log":[":one"]})"));
    const std::string tone(300, 'x');
    talking.page.state.as_object()["tone"] = tone;
    talking.page.say("m2", "two");
    talking.run();
    CHECK(talking.page.state == json::value{{"log", {":one", tone + ":two"}}, {"tone", tone}});
    CHECK(talking.page.texts() == Texts{"user:one", "assistant:heard 1", "user:two", "assistant:heard 2"});
    talking.page.say("m3", "ask");
    talking.run();
    CHECK(talking.page.outcome.at("interrupts").at(0).at("message") == "Which one?");
    CHECK(talking.page.outcome.at("interrupts").at(0).at("reason") == "which");
    talking.run(resumed(talking.page.firstInterrupt(), "the first"));
    CHECK(talking.page.texts().back() == "assistant:the first");
    CHECK(talking.page.messages.size() == 6);
}

TEST_CASE("AG-UI's state is a snapshot, then what has changed, or the whole state where that is shorter") {
    const auto encoder = serve::agUiEvents().encoder();
    std::vector<std::string> lines;
    const auto tell = [&](std::string_view state) {
        sg::HubEvent event;
        event.mode = sg::StreamMode::values;
        event.data = sg::Value(json::parse(state));
        lines.clear();
        encoder->take(event, lines);
        return lines;
    };
    const std::string note(100, 'x');
    CHECK(tell(R"({"messages":[],"note":")" + note + R"(","n":1})") ==
          Texts{R"({"type":"STATE_SNAPSHOT","snapshot":{"n":1,"note":")" + note + R"("}})"});
    CHECK(tell(R"({"messages":[],"note":")" + note + R"(","n":2})") ==
          Texts{R"({"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]})"});
    CHECK(tell(R"({"messages":[{"id":"m"}],"note":")" + note + R"(","n":2})").empty());
    CHECK(tell(R"({"messages":[],"n":3})") == Texts{R"({"type":"STATE_SNAPSHOT","snapshot":{"n":3}})"});
}

TEST_CASE("an AG-UI client reaches its own threads alone") {
    serve::ServerOptions options;
    options.owned = true;
    options.authorize = [](const serve::RequestView& request) -> serve::Admission {
        CHECK(request.operation() == "ag-ui");
        CHECK(request.thread() == "t");
        return serve::Identity{.name = std::string(request.header("X-User"))};
    };
    Talking talking(options);
    const auto post = [&](const std::string& user) {
        return client::post(talking.server.port(), "/talk/ag-ui", talking.page.body(), "X-User: " + user + "\r\n");
    };
    CHECK(post("ann").status == 404);  // nothing is stored that a page could load
    talking.page.say("m1", "one");
    CHECK(post("ann").status == 200);
    CHECK(post("bob").status == 404);
    talking.page.messages.clear();
    CHECK(post("bob").status == 404);
    const client::Response own = post("ann");
    CHECK(own.status == 200);
    CHECK(own.body.find("heard 1") != std::string::npos);
}
