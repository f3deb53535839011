#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/agent/agent.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/responses.hpp>

#include "model/http/responses_request.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/scripted_server.hpp"

// Requests to the Responses API: conversations, and what is sent back to the model that wrote it.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace agent = stategraph::agent;
namespace json = boost::json;
using Kind = md::ProviderPartKind;

json::value bodyOf(const md::Request& request, const md::ResponsesOptions& options = {.model = "m"},
                   const std::string& model = "m") {
    return json::parse(md::http::responsesBody(options, request, {"host", model}));
}
json::value inputOf(const std::vector<md::Message>& messages, const std::string& model = "m") {
    return bodyOf({.messages = messages}, {.model = "m"}, model).at("input");
}

md::ProviderPart kept(const std::string& items) {
    return {Kind::metadata, "openai-responses", "", "host", R"({"model":"m","items":)" + items + "}"};
}
const std::string thought = R"({"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"})";

std::string outputText(const std::string& text) {
    return R"([{"type":"output_text","text":")" + text + R"(","annotations":[]}])";
}

struct Look {
    std::string what;
    static constexpr auto fields() { return sg::fields(sg::field("what", &Look::what)); }
};

}  // namespace

TEST_CASE("a request has the whole conversation, asks for encrypted thoughts, and has nothing stored") {
    const md::ToolCall call{.id = "ours", .provider_id = "call_1", .name = "look", .arguments = R"({"x":1})"};
    md::Message asking = md::user("see");
    asking.content.emplace_back(md::File{"image/png", "", "aGk="});
    asking.content.emplace_back(md::File{"image/png", "https://a/b.png", ""});
    asking.content.emplace_back(md::File{"application/pdf", "", "aGk="});
    asking.content.emplace_back(md::File{"text/plain", "", "aGk="});
    md::Message calling = md::assistant("I look.");
    calling.calls = {call};
    calling.content.emplace_back(md::Reasoning{"of another model", "signature"});
    const json::value body = bodyOf(
        {.instructions = "be brief",
         .messages = std::vector<md::Message>{md::system("you are"), asking, calling, md::toolResult(call, "red")}});
    CHECK(body.at("store") == false);
    CHECK(body.at("stream") == true);
    CHECK(body.at("instructions") == "be brief");
    CHECK(body.at("include") == json::parse(R"(["reasoning.encrypted_content"])"));
    CHECK(body.at("input") == json::parse(R"([
        {"role":"system","content":[{"type":"input_text","text":"you are"}]},
        {"role":"user","content":[{"type":"input_text","text":"see"},
            {"type":"input_image","image_url":"data:image/png;base64,aGk="},
            {"type":"input_image","image_url":"https://a/b.png"},
            {"type":"input_file","filename":"file.pdf","file_data":"data:application/pdf;base64,aGk="},
            {"type":"input_text","text":"hi"}]},
        {"role":"assistant","content":)" + outputText("I look.") +
                                          R"(},
        {"type":"function_call","call_id":"call_1","name":"look","arguments":"{\"x\":1}"},
        {"type":"function_call_output","call_id":"call_1","output":"red"}])"));
    CHECK_FALSE(bodyOf({}, {.model = "m", .keep_thoughts = false}).as_object().contains("include"));
}

TEST_CASE("tools, choices, output and settings are members of a request") {
    const std::vector<md::ToolDescription> tools = {{.name = "look", .description = "Looks."},
                                                    {.name = "web_search", .provider = R"({"type":"web_search"})"}};
    md::Request request{.tools = tools, .tool_choice = md::ToolChoice::required};
    request.output = md::OutputFormat{"answer", R"({"type":"object","properties":{"a":{}}})"};
    request.settings.max_output_tokens = 9;
    request.settings.temperature = 0.5;
    request.settings.extra = sg::parseJson(R"({"reasoning":{"summary":"auto"},"store":null})");
    const json::value body = bodyOf(request);
    CHECK(body.at("tools") == json::parse(R"([
        {"type":"function","name":"look","description":"Looks.","parameters":{"type":"object","properties":{}},
         "strict":false},{"type":"web_search"}])"));
    CHECK(body.at("tool_choice") == "required");
    CHECK(body.at("text").at("format").at("strict") == false);
    CHECK(body.at("max_output_tokens") == 9);
    CHECK(body.at("reasoning").at("summary") == "auto");
    CHECK_FALSE(body.as_object().contains("store"));
    request.required_tool = "look";
    CHECK(bodyOf(request).at("tool_choice") == json::parse(R"({"type":"function","name":"look"})"));
    request.settings.seed = 1;
    CHECK_THROWS_WITH_AS(bodyOf(request), doctest::Contains("seed"), md::ModelError);
    CHECK_THROWS_AS(md::openaiResponses({}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(md::openaiResponses({.model = "m", .settings = {.stop_sequences = {"x"}}}),
                    sg::InvalidArgumentError);
    CHECK_THROWS_AS(inputOf({md::toolResult({.id = "unknown", .name = "look"}, "x")}), md::ModelError);
}

TEST_CASE("thoughts are sent back before what they led to, and to the model that had them only") {
    md::Message message = md::assistant("first");
    message.content.emplace_back(md::Text{"second"});
    message.calls = {{"ours", "call_1", "look", "{}"}};
    message.content.emplace_back(kept("[" + thought +
                                      R"(,{"type":"message","id":"m1","phase":"commentary","text_size":5},
        {"type":"message","id":"m2","text_size":6},)" +
                                      thought + R"(,
        {"type":"function_call","id":"fc","call_id":"call_1"},)" +
                                      thought + "]"));
    CHECK(inputOf({message}) == json::parse("[" + thought + R"(,
        {"type":"message","id":"m1","phase":"commentary","content":)" +
                                            outputText("first") + R"(},
        {"type":"message","id":"m2","content":)" +
                                            outputText("second") + "}," + thought + R"(,
        {"type":"function_call","id":"fc","call_id":"call_1","name":"look","arguments":"{}"}])"));
    CHECK(inputOf({message}, "other") ==
          json::parse(R"([{"role":"assistant","content":)" + outputText("firstsecond") +
                      R"(},{"type":"function_call","call_id":"call_1","name":"look","arguments":"{}"}])"));
}

TEST_CASE("texts that were edited, and calls that were added or left out, are sent as the message has them") {
    md::Message message = md::assistant("edited");
    message.calls = {{"a", "call_2", "look", "{}"}};
    message.content.emplace_back(kept("[" + thought + R"(,{"type":"message","id":"m1","text_size":5},)" + thought + R"(,
        {"type":"function_call","id":"fc","call_id":"call_1"},{"type":"message","id":"m2","text_size":0}])"));
    CHECK(inputOf({message}) ==
          json::parse("[" + thought + R"(,{"type":"message","id":"m1","content":)" + outputText("edited") +
                      R"(},{"type":"function_call","call_id":"call_2","name":"look","arguments":"{}"}])"));
    for (const char* const items :
         {"7", R"([7,{},{"type":"message","text_size":-1}])", "[", R"([{"type":"x_call"}])"}) {
        CAPTURE(items);
        md::Message damaged = md::assistant("a");
        damaged.content.emplace_back(kept(items));
        CHECK(json::serialize(inputOf({damaged})).find(R"("text":"a")") != std::string::npos);
    }
}

TEST_CASE("calls of the provider's tools are sent back in their place, unless they were left out") {
    const std::string search = R"({"type":"web_search_call","id":"ws","status":"completed","results":[1]})";
    md::Message message = md::assistant("Tea.");
    message.content.insert(message.content.begin(),
                           md::ProviderPart{Kind::result, "openai-responses", "ws", "web_search", search});
    message.content.emplace_back(kept("[" + thought + R"(,{"type":"web_search_call","id":"ws"},)" + thought + R"(,
        {"type":"message","id":"m","text_size":4}])"));
    const std::string text = R"({"type":"message","id":"m","content":)" + outputText("Tea.") + "}";
    CHECK(inputOf({message}) == json::parse("[" + thought + "," + search + "," + thought + "," + text + "]"));
    message.content.erase(message.content.begin());
    CHECK(inputOf({message}) == json::parse("[" + thought + "," + thought + "," + text + "]"));
}

TEST_CASE("an agent sends a model its thoughts back after a restart, in every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const ScriptedServer server([](ScriptedServer::Peer& peer) {
            const std::string request = peer.request();
            const auto event = [](const std::string& data) { return "data: " + data + "\n\n"; };
            const auto done = [&](const std::string& item) {
                return event(R"({"type":"response.output_item.done","output_index":)" +
                             std::string(item.find("reasoning") != std::string::npos ? "0" : "1") +
                             ",\"item\":" + item + "}");
            };
            const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            const std::string end = event(R"({"type":"response.completed","response":{}})");
            const bool has_result = request.find("function_call_output") != std::string::npos;
            if (!has_result) {
                peer.send(head + done(thought) +
                          done(R"({"type":"function_call","id":"fc","call_id":"c","name":"look",)"
                               R"("arguments":"{\"what\":\"tea\"}"})") +
                          end);
            } else if (request.find(thought + R"(,{"type":"function_call")") == std::string::npos) {
                peer.send("HTTP/1.1 400 Bad\r\nContent-Length: 7\r\n\r\nmissing");
            } else {
                peer.send(head + done(R"({"type":"message","content":[{"type":"output_text","text":"red"}]})") + end);
            }
        });
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto helper = [&] {
            return agent::Agent({.model = md::openaiResponses({.base_url = server.url(), .model = "gpt"}),
                                 .tools = {agent::tool<Look>("look", {.approval = true},
                                                             [](const Look&) { return std::string("red"); })},
                                 .compile = {.checkpointer = saver}});
        };
        const auto paused = driver.run(helper().graph(), agent::said("look"), {.thread_id = "t"});
        REQUIRE(paused.what() == "");
        const agent::Agent later = helper();
        for (const agent::OpenCall& call : later.openCalls("t"))
            later.graph().invoke(later.decide("t", call.id, {.approved = true}), {.thread_id = "t"});
        CHECK(later.graph().getState({.thread_id = "t"}).values.text() == "red");
        CHECK(server.requests().at(0).starts_with("POST /responses "));
    }
}
