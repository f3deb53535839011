#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/agent/agent.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/openai.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/scripted_server.hpp"

// Agents with a model behind HTTP: how often what fails is asked for again.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace agent = stategraph::agent;
using namespace std::chrono_literals;
using Peer = ScriptedServer::Peer;

const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const std::string busy = "HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy";

std::string text(const std::string& piece) {
    return R"(data: {"choices":[{"index":0,"delta":{"content":")" + piece + "\"}}]}\n\n";
}
const std::string hello = text("hello") +
                          "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
                          "data: [DONE]\n\n";

agent::Agent helper(const ScriptedServer& server, md::HttpOptions http) {
    return agent::Agent({.model = md::openai({.base_url = server.url(), .model = "m", .http = std::move(http)}),
                         .compile = {.checkpointer = std::make_shared<sg::MemorySaver>()}});
}

}  // namespace

TEST_CASE("a request that was refused as often as the client allows is not repeated by the agent, in every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const ScriptedServer server([](Peer& peer) {
            peer.request();
            peer.send(busy);
        });
        const auto failed =
            driver.run(helper(server, {.max_retries = 2}).graph(), agent::said("hi"), {.thread_id = "t"});
        CHECK(failed.what().find("attempt 3") != std::string::npos);
        CHECK(server.connections() == 3);
    }
}

TEST_CASE("a provider that asks for a longer wait than is allowed is asked once") {
    const ScriptedServer server([](Peer& peer) {
        peer.request();
        peer.send("HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n");
    });
    CHECK_THROWS_AS(helper(server, {.max_retries = 2}).say("hi", {.thread_id = "t"}), sg::NodeError);
    CHECK(server.connections() == 1);
}

TEST_CASE("an answer that breaks off after some pieces, or without retries of the client, is repeated by the agent") {
    const auto script = [](const std::string& first) {
        return [first](Peer& peer) {
            peer.request();
            peer.send(peer.number == 0 ? first : head + hello);
        };
    };
    const ScriptedServer breaks(script(head + text("hel")));
    const ScriptedServer refuses(script(busy));
    for (const ScriptedServer* const server : {&breaks, &refuses}) {
        const agent::Agent asking = helper(*server, {.max_retries = server == &breaks ? 2 : 0});
        // With a listener for pieces, so that a piece that was reported is not taken back.
        asking.graph().stream(agent::said("hi"), {.thread_id = "t"}, {.modes = sg::StreamMode::messages},
                              [](const sg::StreamEvent&) {});
        CHECK(asking.graph().getState({.thread_id = "t"}).values.text() == "hello");
        CHECK(server->connections() == 2);
    }
}
