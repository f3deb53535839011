// A turn of 20 rounds of an agent whose model is behind HTTP on the loopback, over TLS and without: what a connection
// costs. The server, in this process, answers immediately.
#include <fstream>
#include <memory>
#include <string>

#include <stategraph/agent/agent.hpp>
#include <stategraph/model/openai.hpp>

#include "benchmarks/support/temp_folder.hpp"
#include "benchmarks/support/workload.hpp"
#include "tests/support/scripted_server.hpp"
#include "tests/support/self_signed.hpp"

namespace bench {
namespace {

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

constexpr int rounds = 20;

std::string answer(const std::string& delta, const std::string& reason) {
    const std::string body = R"(data: {"choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":")" + reason +
                             "\"}]}\n\ndata: [DONE]\n\n";
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

void turn(benchmark::State& state, bool is_tls) {
    const std::string call =
        answer(R"({"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":"{}"}}]})", "tool_calls");
    const std::string done = answer(R"({"content":"done"})", "stop");
    const SelfSigned self;
    const TempFolder folder;
    const std::string ca_file = folder.path() + "/ca.pem";
    std::ofstream(ca_file) << self.certificate;
    const ScriptedServer server(
        [&](ScriptedServer::Peer& peer) {
            for (int round = 1; !peer.request().empty(); round = round % rounds + 1)
                peer.send(round < rounds ? call : done);
        },
        is_tls ? self.certificate : "", is_tls ? self.key : "");
    int looks = 0;
    const agent::Agent helper(
        {.model = model::openai({.base_url = server.url(), .model = "m", .http = {.ca_file = ca_file}}),
         .tools = {agent::tool<sg::Value>("look", {.description = "looks", .parameters = R"({"type":"object"})"},
                                          [&](const sg::Value&) { return std::to_string(++looks); })},
         .stop_when = {agent::stepCountIs(rounds + 2)}});
    for (auto _ : state) {
        const auto result = helper.say("go");
        if (result.values.steps != rounds) state.SkipWithError("wrong result");
    }
    state.counters["connections"] = static_cast<double>(server.connections());
}

}  // namespace

void registerCases() {
    add("agent_http/rounds_20", [](benchmark::State& state) { turn(state, false); })->UseRealTime();
    add("agent_http/rounds_20_tls", [](benchmark::State& state) { turn(state, true); })->UseRealTime();
}

}  // namespace bench
