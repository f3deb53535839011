#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>

#include "model/http/openai_request.hpp"
#include "model/http/wire_calls.hpp"

namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace json = boost::json;

json::value bodyOf(const md::Request& request, const md::OpenAiOptions& options = {.model = "m"}) {
    return json::parse(md::http::openAiBody(options, request));
}

md::Message calling(std::vector<md::ToolCall> calls) { return md::assistant(std::move(calls)); }

}  // namespace

TEST_CASE("a request says the least: the model, that it is to be streamed, and the messages") {
    const std::vector<md::Message> messages = {md::user("hi")};
    CHECK(bodyOf({.messages = messages}) ==
          json::parse(R"({"model":"m","stream":true,"stream_options":{"include_usage":true},
        "messages":[{"role":"user","content":"hi"}]})"));
}

TEST_CASE("all roles, calls and results are said in OpenAI's format") {
    const md::ToolCall call{.id = "ours", .provider_id = "call_1", .name = "look", .arguments = R"({"x":1})"};
    const md::ToolCall empty{.id = "other", .provider_id = "call_2", .name = "wait"};
    md::Message thought = calling({call, empty});
    thought.content.emplace_back(md::Reasoning{"hm", ""});
    md::Message gone;
    gone.role = md::Role::remove;
    gone.id = "x";
    std::vector<md::Message> messages = {md::system("be brief"),
                                         md::user("hi"),
                                         thought,
                                         md::toolResult(call, "red"),
                                         md::toolResult(empty, sg::fromJson(json::parse(R"({"a":[1]})"))),
                                         gone,
                                         md::assistant("done")};
    CHECK(bodyOf({.instructions = "you are", .messages = messages}).at("messages") == json::parse(R"([
        {"role":"system","content":"you are"},{"role":"system","content":"be brief"},{"role":"user","content":"hi"},
        {"role":"assistant","content":null,"tool_calls":[
            {"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"x\":1}"}},
            {"id":"call_2","type":"function","function":{"name":"wait","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"call_1","content":"red"},
        {"role":"tool","tool_call_id":"call_2","content":"{\"a\":[1]}"},
        {"role":"assistant","content":"done"}])"));
}

TEST_CASE("thoughts are sent back to servers that require it, and to no others") {
    md::Message thought = md::assistant("So.");
    thought.content.insert(thought.content.begin(), {md::Reasoning{"hm, ", ""}, md::Reasoning{"yes", "signature"}});
    const std::vector<md::Message> messages = {thought, md::assistant("Well.")};
    CHECK(bodyOf({.messages = messages}, {.model = "m", .send_reasoning = true}).at("messages") == json::parse(R"([
        {"role":"assistant","content":"So.","reasoning_content":"hm, yes"},{"role":"assistant","content":"Well."}])"));
    CHECK(bodyOf({.messages = messages}).at("messages") ==
          json::parse(R"([{"role":"assistant","content":"So."},{"role":"assistant","content":"Well."}])"));
}

TEST_CASE("on the wire each call has a name of its own that providers take, the provider's where it is one") {
    const auto call = [](std::string ours, std::string theirs) {
        return md::ToolCall{.id = ours, .provider_id = theirs, .name = "f"};
    };
    const std::vector<md::Message> messages = {
        calling({call("a", "x"), call("b", ""), call("c", "x"), call("d", "call-0-1")}),
        md::toolResult(call("b", ""), "b"),
        calling({call("e", "x"), call("f", std::string(41, 'y')), call("g", "has space"), call("b", "z_-9")}),
        md::toolResult(call("b", ""), "again"),
        md::toolResult(call("nobody", ""), "?"),
    };
    const md::http::WireIds ids(messages);
    CHECK(ids.ofCall(0, 0) == "x");
    CHECK(ids.ofCall(0, 1) == "call-0-1-2");
    CHECK(ids.ofCall(0, 2) == "call-0-2");
    CHECK(ids.ofCall(0, 3) == "call-0-1");
    CHECK(ids.ofResult(1) == "call-0-1-2");
    CHECK(ids.ofCall(2, 0) == "call-2-0");
    CHECK(ids.ofCall(2, 1) == "call-2-1");
    CHECK(ids.ofCall(2, 2) == "call-2-2");
    CHECK(ids.ofCall(2, 3) == "z_-9");
    CHECK(ids.ofResult(3) == "z_-9");
    CHECK(ids.ofResult(4).empty());
    CHECK_THROWS_AS(bodyOf({.messages = messages}), md::ModelError);
}

TEST_CASE("arguments that are no JSON object are sent as one") {
    const auto sent = [](std::string arguments) {
        return md::http::wireArguments({.id = "", .name = "", .arguments = std::move(arguments)});
    };
    CHECK(sent("") == "{}");
    CHECK(sent(R"({"a": 1})") == R"({"a": 1})");
    CHECK(sent(R"({"a": )") == R"({"unparsed":"{\"a\": "})");
    CHECK(sent("[1]") == R"({"unparsed":"[1]"})");
}

TEST_CASE("tools, choices and outputs are said; a schema is strict if OpenAI takes it so") {
    md::Request request;
    std::vector<md::ToolDescription> tools = {
        {.name = "look",
         .description = "Looks",
         .parameters = R"({"type":"object","properties":{"x":{"type":"integer"}}})"}};
    request.tools = tools;
    request.tool_choice = md::ToolChoice::required;
    request.output = md::OutputFormat{
        .name = "plan",
        .schema =
            R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false})"};
    json::value body = bodyOf(request);
    CHECK(body.at("tools") == json::parse(R"([{"type":"function","function":{"name":"look","description":"Looks",
        "parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}}])"));
    CHECK(body.at("tool_choice") == "required");
    request.required_tool = "look";
    CHECK(bodyOf(request).at("tool_choice") == json::parse(R"({"type":"function","function":{"name":"look"}})"));
    request.tools = {};
    CHECK(!bodyOf(request).as_object().contains("tool_choice"));
    request.tools = tools;
    CHECK(body.at("response_format").at("json_schema").at("strict") == true);
    CHECK(body.at("response_format").at("json_schema").at("name") == "plan");
    request.output->schema = R"({"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false})";
    CHECK(bodyOf(request).at("response_format").at("json_schema").at("strict") == false);
    request.output->schema = "no JSON";
    CHECK_THROWS_AS(bodyOf(request), md::ModelError);
    tools[0].parameters = "[]";
    CHECK_THROWS_AS(bodyOf(request), md::ModelError);
}

TEST_CASE("a request's settings win over the model's, extra members over both, and null takes a member away") {
    md::OpenAiOptions options{.model = "m"};
    options.settings = {.max_output_tokens = 10, .temperature = 0.5, .stop_sequences = {"a"}};
    options.settings.extra = sg::fromJson(json::parse(R"({"user":"u","k":1})"));
    md::Request request;
    request.settings.temperature = 1.0;
    request.settings.seed = 7;
    request.settings.extra = sg::fromJson(json::parse(R"({"k":2,"stream_options":null})"));
    json::object body = bodyOf(request, options).as_object();
    CHECK(body.at("max_completion_tokens") == 10);
    CHECK(body.at("temperature") == 1.0);
    CHECK(body.at("seed") == 7);
    CHECK(body.at("stop") == json::parse(R"(["a"])"));
    CHECK(body.at("user") == "u");
    CHECK(body.at("k") == 2);
    CHECK(!body.contains("stream_options"));
    options.max_tokens_member = "max_tokens";
    CHECK(bodyOf(request, options).at("max_tokens") == 10);
    request.settings.extra = 5;
    CHECK_THROWS_AS(bodyOf(request, options), md::ModelError);
}

TEST_CASE("files are sent as pictures, sounds or documents, and text that is not UTF-8 is mended") {
    md::Message asks = md::user("what is it? \xFF");
    asks.content.emplace_back(md::File{"image/png", "https://a/b.png", ""});
    asks.content.emplace_back(md::File{"image/png", "", "AAAA"});
    asks.content.emplace_back(md::File{"audio/mpeg", "", "BBBB"});
    asks.content.emplace_back(md::File{"application/pdf", "", "CCCC"});
    std::vector<md::Message> messages = {asks};
    CHECK(bodyOf({.messages = messages}).at("messages").at(0).at("content") == json::parse(R"([
        {"type":"text","text":"what is it? )"
                                                                                           "\xEF\xBF\xBD"
                                                                                           R"("},
        {"type":"image_url","image_url":{"url":"https://a/b.png"}},
        {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},
        {"type":"input_audio","input_audio":{"data":"BBBB","format":"mp3"}},
        {"type":"file","file":{"filename":"file.pdf","file_data":"data:application/pdf;base64,CCCC"}}])"));
    messages[0].content.emplace_back(md::File{"application/pdf", "https://a/b.pdf", ""});
    CHECK_THROWS_AS(bodyOf({.messages = messages}), md::ModelError);
}

TEST_CASE("a file that is a text is sent as a text, as it is in the file") {
    md::Message asks = md::user("sum it up");
    asks.content.emplace_back(md::File{"text/markdown", "", "IyBIw6RsbG8="});
    asks.content.emplace_back(md::File{"text/plain; charset=utf-8", "", "Yf9i"});
    std::vector<md::Message> messages = {asks};
    CHECK(bodyOf({.messages = messages}).at("messages").at(0).at("content") ==
          json::parse("[{\"type\":\"text\",\"text\":\"sum it up\"},{\"type\":\"text\",\"text\":\"# H\xC3\xA4llo\"},"
                      "{\"type\":\"text\",\"text\":\"a\xEF\xBF\xBD"
                      "b\"}]"));
    messages[0].content = {md::File{"text/plain", "", "not base64"}};
    CHECK_THROWS_AS(bodyOf({.messages = messages}), md::ModelError);
    messages[0].content = {md::File{"text/plain", "https://a/b.txt", ""}};
    CHECK_THROWS_AS(bodyOf({.messages = messages}), md::ModelError);
}
