#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/agent/agent.hpp>
#include <stategraph/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/gemini.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/scripted_server.hpp"

// Gemini's format with a server.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace agent = stategraph::agent;
namespace json = boost::json;
using Peer = ScriptedServer::Peer;

const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

std::string event(const std::string& parts, const std::string& reason = "") {
    return R"(data: {"candidates":[{"content":{"role":"model","parts":[)" + parts + "]}" +
           (reason.empty() ? "" : R"(,"finishReason":")" + reason + "\"") + "}]}\r\n\r\n";
}
std::string plain(const std::string& status, const std::string& body) {
    return "HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}
json::value bodyOf(const std::string& request) { return json::parse(request.substr(request.find("\r\n\r\n") + 4)); }

/// A busy machine may pause the client between a connection and its next look.
md::HttpOptions patient(int max_retries = 2) {
    return {.connect_limit = std::chrono::minutes(5), .max_retries = max_retries};
}

struct Look {
    std::optional<std::string> what = {};
    static constexpr auto fields() { return sg::fields(sg::field("what", &Look::what)); }
};

md::Reply ask(const md::Model& model) {
    const std::vector<md::Message> messages = {md::user("hi")};
    const md::Asking asking;
    return sg::syncWait(model.ask({.messages = messages}, asking));
}

}  // namespace

TEST_CASE("Gemini is asked at its model's address with the key as a header, and its answer is read to the end") {
    const ScriptedServer server([](Peer& peer) {
        if (!peer.request().empty()) peer.send(head + event(R"({"text":"Hel"})") + event(R"({"text":"lo"})", "STOP"));
    });
    const auto model = md::gemini(
        {.base_url = server.url() + "/v1beta", .api_key = "secret", .model = "gemini-3-pro", .http = patient()});
    CHECK(ask(*model).message.text() == "Hello");
    const std::string request = server.requests().at(0);
    CHECK(request.starts_with("POST /v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse HTTP/1.1\r\n"));
    CHECK(request.find("x-goog-api-key: secret\r\n") != std::string::npos);
    CHECK(bodyOf(request) == json::parse(R"({"contents":[{"role":"user","parts":[{"text":"hi"}]}]})"));
    ask(*md::gemini({.base_url = server.url(), .model = "tunedModels/mine", .http = patient()}));
    CHECK(server.requests().at(1).starts_with("POST /tunedModels/mine:streamGenerateContent?alt=sse "));
}

TEST_CASE("an answer of Gemini that breaks off, or has a malformed call, is asked for again") {
    const ScriptedServer server([](Peer& peer) {
        peer.request();
        if (peer.number == 0) peer.send(head + event(R"({"text":"Hel"})"));
        if (peer.number == 1) peer.send(head + event("", "MALFORMED_FUNCTION_CALL"));
        if (peer.number == 2)
            peer.send(plain("429 Many", R"([{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED",
                "details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.01s"}]}}])"));
        if (peer.number == 3) peer.send(head + event(R"({"text":"Hello"})", "STOP"));
    });
    const auto model = md::gemini({.base_url = server.url(), .model = "m", .http = patient(3)});
    CHECK(ask(*model).message.text() == "Hello");
}

TEST_CASE("a refusal of Gemini is an error with its words, without the key") {
    const ScriptedServer server([](Peer& peer) {
        peer.request();
        peer.send(plain("400 Bad",
                        R"({"error":{"code":400,"message":"API key secret not valid","status":"INVALID_ARGUMENT"}})"));
    });
    const auto model = md::gemini({.base_url = server.url(), .api_key = "secret", .model = "m", .http = patient()});
    try {
        ask(*model);
        FAIL("no error");
    } catch (const md::ModelError& error) {
        CHECK(std::string(error.what()).find("API key *** not valid (INVALID_ARGUMENT)") != std::string::npos);
        CHECK(error.status() == 400);
        CHECK(!error.isRetryable());
    }
}

TEST_CASE("names that are no names of models are refused, because they are a part of the address") {
    for (const char* const name : {"", "a?b", "a b", "../x", "/x", "a#b"}) {
        CAPTURE(name);
        CHECK_THROWS_AS(md::gemini({.model = name}), sg::InvalidArgumentError);
    }
}

TEST_CASE("an agent sends Gemini its signatures and a tool's picture after a restart, in every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const ScriptedServer server([](Peer& peer) {
            const std::string request = peer.request();
            if (request.find("functionResponse") == std::string::npos) {
                peer.send(
                    head +
                    event(R"({"functionCall":{"id":"f1","name":"look","args":{}},"thoughtSignature":"c2ln"})", "STOP"));
            } else if (request.find(R"("thoughtSignature":"c2ln")") == std::string::npos ||
                       request.find(R"("inlineData":{"mimeType":"image/png","data":"cG5n"})") == std::string::npos) {
                peer.send(plain("400 Bad", "missing"));
            } else {
                peer.send(head + event(R"({"text":"red"})", "STOP"));
            }
        });
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto helper = [&] {
            return agent::Agent(
                {.model = md::gemini({.base_url = server.url(), .model = "gemini-3-pro", .http = patient()}),
                 .tools = {agent::tool<Look>("look", {.approval = true},
                                             [](const Look&) {
                                                 return md::ToolOutput{
                                                     .content = {md::File{.media_type = "image/png", .data = "cG5n"}}};
                                             })},
                 .compile = {.checkpointer = saver}});
        };
        const auto paused = driver.run(helper().graph(), agent::said("look"), {.thread_id = "t"});
        REQUIRE(paused.what() == "");
        const agent::Agent later = helper();
        for (const agent::OpenCall& call : later.openCalls("t"))
            later.graph().invoke(later.decide("t", call.id, {.approved = true}), {.thread_id = "t"});
        CHECK(later.graph().getState({.thread_id = "t"}).values.text() == "red");
    }
}
