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
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/openai.hpp>
#include <stategraph/model/prune.hpp>
#include <stategraph/model/scripted_model.hpp>

#include "model/http/openai_answer.hpp"
#include "model/http/openai_request.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/scripted_server.hpp"

// What servers with OpenAI's format attach to answers and require again: it is kept, and sent back to them alone.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace agent = stategraph::agent;
namespace json = boost::json;
using Strings = std::vector<std::string>;

struct Look {
    std::optional<std::string> what = {};
    static constexpr auto fields() { return sg::fields(sg::field("what", &Look::what)); }
};

constexpr const char* gemini = "generativelanguage.googleapis.com";
const std::string signature = R"({"google":{"thought_signature":"c2ln"}})";

std::string delta(const std::string& members) { return R"({"choices":[{"index":0,"delta":)" + members + "}]}"; }
std::string end(const std::string& reason) {
    return R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + reason + "\"}]}";
}
std::string callDelta(const std::string& id, const std::string& extra, int index = 0) {
    return delta(R"({"tool_calls":[{"index":)" + std::to_string(index) + R"(,"id":")" + id +
                 R"(","type":"function","function":{"name":"look","arguments":"{}"})" +
                 (extra.empty() ? "" : ",\"extra_content\":" + extra) + "}]}");
}

md::Message read(const Strings& events, const std::string& host = gemini, Strings* told = nullptr) {
    const std::function<void(const md::Delta&)> tell = [&](const md::Delta& piece) {
        const bool is_thought = piece.kind == md::Delta::Kind::reasoning;
        if (told != nullptr) told->push_back((is_thought ? "thought " : "") + std::string(piece.text));
        CHECK((piece.kind != md::Delta::Kind::provider));
    };
    md::http::Listener listener(tell);
    md::http::OpenAiAnswer answer({"http://x", "key"}, listener, host);
    for (const std::string& event : events) answer.take("", event);
    return answer.finish().message;
}

/// Returns the message as the server at `host` receives it with the next request.
json::object sentBack(md::Message message, const std::string& host = gemini) {
    std::vector<md::Message> messages = {std::move(message)};
    for (std::size_t i = 0; i < messages[0].calls.size(); ++i) messages[0].calls[i].id = "ours" + std::to_string(i);
    const md::Request request{.messages = messages};
    return json::parse(md::http::openAiBody({.model = "m"}, request, host)).at("messages").at(0).as_object();
}

json::value extraOf(const json::object& sent, std::size_t call) {
    const json::value* const extra = sent.at("tool_calls").at(call).as_object().if_contains("extra_content");
    return extra != nullptr ? *extra : json::value();
}

}  // namespace

TEST_CASE("what a server attaches to a call is sent back with this call, and to no other server") {
    const md::Message answer = read({callDelta("a", ""), callDelta("b", signature, 1), end("tool_calls")});
    REQUIRE(answer.calls.size() == 2);
    REQUIRE(answer.content.size() == 1);
    CHECK((std::get<md::ProviderPart>(answer.content[0]).kind == md::ProviderPartKind::metadata));
    CHECK(extraOf(sentBack(answer), 0).is_null());
    CHECK(extraOf(sentBack(answer), 1) == json::parse(signature));
    const json::object elsewhere = sentBack(answer, "api.openai.com");
    CHECK(extraOf(elsewhere, 1).is_null());
    CHECK(elsewhere.at("content").is_null());
}

TEST_CASE("an attachment belongs to its call when others have been left out, and without an id to its place") {
    md::Message answer = read({callDelta("a", ""), callDelta("b", signature, 1), end("tool_calls")});
    answer.calls.erase(answer.calls.begin());
    CHECK(extraOf(sentBack(answer), 0) == json::parse(signature));
    answer.calls[0].provider_id = "another";
    CHECK(extraOf(sentBack(answer), 0).is_null());
    const md::Message nameless = read({callDelta("", signature), end("tool_calls")});
    CHECK(extraOf(sentBack(nameless), 0) == json::parse(signature));
}

TEST_CASE("attachments that come in pieces are joined: the message's, a call's, and details of thoughts") {
    const md::Message answer =
        read({delta(R"({"reasoning_details":[{"type":"reasoning.text","text":"Let ","index":0,"format":"f"}]})"),
              delta(R"({"reasoning_details":[{"type":"reasoning.text","text":"me","index":0,"signature":null}]})"),
              delta(R"({"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"s"}]})"),
              delta(R"({"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":0},
                                        {"type":"reasoning.encrypted","data":"y","index":0}, 7]})"),
              delta(R"({"reasoning_details":[]})"), callDelta("a", R"({"google":{"a":1}})"),
              delta(R"({"tool_calls":[{"index":0,"extra_content":{"google":{"b":2}}}]})"),
              delta(R"({"content":"","extra_content":{"google":{"thought_signature":"m"}}})"), end("tool_calls")});
    const json::object sent = sentBack(answer);
    CHECK(sent.at("reasoning_details") == json::parse(R"([
        {"type":"reasoning.text","text":"Let me","index":0,"format":"f","signature":"s"},
        {"type":"reasoning.encrypted","data":"x","index":0},{"type":"reasoning.encrypted","data":"y","index":0},7])"));
    CHECK(sent.at("extra_content") == json::parse(R"({"google":{"thought_signature":"m"}})"));
    CHECK(extraOf(sent, 0) == json::parse(R"({"google":{"a":1,"b":2}})"));
}

TEST_CASE("an attachment cannot replace a member of the message, and one that is damaged is left out") {
    md::Message answer = md::assistant("hi");
    const auto attach = [&](std::string data) {
        answer.content.resize(1);
        answer.content.emplace_back(md::ProviderPart{md::ProviderPartKind::metadata, "openai", "", gemini, data});
        return sentBack(answer);
    };
    const json::value plain = json::parse(R"({"role":"assistant","content":"hi"})");
    for (const char* const data : {"", "{", "[]", R"({"role":"system","content":"x"})", R"({"tool_calls":7})",
                                   R"({"tool_calls":[{"index":-1,"extra_content":1},{"index":9},{}]})"}) {
        CAPTURE(data);
        CHECK(json::value(attach(data)) == plain);
    }
}

TEST_CASE("thoughts that Gemini writes as marked content are thoughts, without their tags") {
    const std::string mark = R"(,"extra_content":{"google":{"thought":true}}})";
    Strings told;
    const md::Message answer = read({delta(R"({"role":"assistant","content":"<thought>I ")" + mark),
                                     delta(R"({"content":"see")" + mark), delta(R"({"role":"assistant"})"),
                                     delta(R"({"content":"</thought>Red"})"), delta(R"({"content":"."})"), end("stop")},
                                    gemini, &told);
    CHECK(told == Strings{"thought I ", "thought see", "Red", "."});
    CHECK(answer.text() == "Red.");
    CHECK(answer.content.size() == 2);  // the mark itself is not kept
    const md::Message closed = read({delta(R"({"content":"<thought>I see</thought>")" + mark),
                                     delta(R"({"content":"</thought> is a tag"})"), end("stop")});
    CHECK((closed.content == std::vector<md::Part>{md::Reasoning{"I see", ""}, md::Text{"</thought> is a tag"}}));
}

TEST_CASE("an agent answers a server that refuses calls without their signatures, in every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const ScriptedServer server([](ScriptedServer::Peer& peer) {
            const std::string request = peer.request();
            const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            const auto event = [](const std::string& data) { return "data: " + data + "\n\n"; };
            if (request.find(R"("role":"tool")") == std::string::npos) {
                peer.send(head + event(callDelta("a", signature)) + event(callDelta("b", "", 1)) +
                          event(end("tool_calls")) + event("[DONE]"));
            } else if (request.find(R"("extra_content":)" + signature) == std::string::npos) {
                peer.send("HTTP/1.1 400 Bad\r\nContent-Length: 7\r\n\r\nmissing");
            } else {
                peer.send(head + event(delta(R"({"content":"red"})")) + event(end("stop")) + event("[DONE]"));
            }
        });
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto helper = [&] {
            return agent::Agent({.model = md::openai({.base_url = server.url(), .model = "m"}),
                                 .tools = {agent::tool<Look>("look", {.approval = true},
                                                             [](const Look&) { return std::string("red"); })},
                                 .compile = {.checkpointer = saver}});
        };
        const auto paused = driver.run(helper().graph(), agent::said("look"), {.thread_id = "t"});
        REQUIRE(paused.what() == "");
        const agent::Agent later = helper();  // as after a restart: what was attached is read from the thread
        for (const agent::OpenCall& call : later.openCalls("t"))
            later.graph().invoke(later.decide("t", call.id, {.approved = true}), {.thread_id = "t"});
        CHECK(later.graph().getState({.thread_id = "t"}).values.text() == "red");
    }
}

TEST_CASE("metadata are no content: they are not reported, and a message with nothing else is pruned") {
    md::Message answer = read({callDelta("a", signature), end("tool_calls")});
    answer.calls[0].id = "ours";
    const std::vector<md::Message> messages = {md::user("look"), answer, md::toolResult(answer.calls[0], "red"),
                                               md::assistant("red")};
    CHECK(md::pruneMessages(messages, {.calls_but_last = 1}).size() == 2);
    CHECK(md::pruneMessages(messages, {.calls_but_last = 4}) == messages);
    md::Asking asking;
    asking.tell = [](const md::Delta& piece) { CHECK((piece.kind != md::Delta::Kind::provider)); };
    sg::syncWait(md::scripted({answer})->ask({}, asking));
}
