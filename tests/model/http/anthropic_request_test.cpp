#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>

#include "model/http/anthropic_request.hpp"

namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace json = boost::json;

json::value bodyOf(const md::Request& request, const md::AnthropicOptions& options = {.model = "m"}) {
    return json::parse(md::http::anthropicBody(options, request));
}

}  // namespace

TEST_CASE("a message's request has the system prompt apart, and a limit of tokens") {
    const std::vector<md::Message> messages = {md::user("hi"), md::system("be brief"), md::user("there")};
    CHECK(bodyOf({.instructions = "you are", .messages = messages}) ==
          json::parse(R"({"model":"m","stream":true,"max_tokens":4096,"system":"you are\n\nbe brief",
        "messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"there"}]}]})"));
    CHECK(!bodyOf({.messages = std::span(messages).first(1)}).as_object().contains("system"));
}

TEST_CASE("calls are blocks of the assistant, and all results of a turn one message of the user") {
    const md::ToolCall call{.id = "1", .provider_id = "toolu_1", .name = "look", .arguments = R"({"x":1})"};
    const md::ToolCall empty{.id = "2", .provider_id = "", .name = "wait"};
    const md::ToolCall broken{.id = "3", .provider_id = "toolu_1", .name = "cut", .arguments = R"({"x":)"};
    md::Message says = md::assistant({call, empty, broken});
    says.content.emplace_back(md::Text{"I look"});
    says.content.emplace_back(md::Text{" \n"});
    const std::vector<md::Message> messages = {md::user("hi"),
                                               says,
                                               md::toolResult(call, "red"),
                                               md::toolResult(empty, sg::fromJson(json::parse("[1]"))),
                                               md::toolResult(broken, "no", true),
                                               md::user("and?"),
                                               md::assistant("")};
    CHECK(bodyOf({.messages = messages}).at("messages") == json::parse(R"([
        {"role":"user","content":[{"type":"text","text":"hi"}]},
        {"role":"assistant","content":[{"type":"text","text":"I look"},
            {"type":"tool_use","id":"toolu_1","name":"look","input":{"x":1}},
            {"type":"tool_use","id":"call-1-1","name":"wait","input":{}},
            {"type":"tool_use","id":"call-1-2","name":"cut","input":{"unparsed":"{\"x\":"}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"red"},
            {"type":"tool_result","tool_use_id":"call-1-1","content":"[1]"},
            {"type":"tool_result","tool_use_id":"call-1-2","content":"no","is_error":true},
            {"type":"text","text":"and?"}]}])"));
    CHECK_THROWS_AS(bodyOf({.messages = std::span(messages).last(4)}), md::ModelError);
}

TEST_CASE("a number too large for a double in a call's arguments is null in the request, which stays JSON") {
    const md::ToolCall call{.id = "1", .provider_id = "1", .name = "look", .arguments = R"({"x":1e400,"y":[-1e999]})"};
    const std::vector<md::Message> messages = {md::user("hi"), md::assistant({call}), md::toolResult(call, "red")};
    CHECK(bodyOf({.messages = messages}).at("messages").at(1).at("content").at(0).at("input") ==
          json::parse(R"({"x":null,"y":[null]})"));
}

TEST_CASE("thoughts go back with their signatures, hidden ones as they came, and unsigned ones not at all") {
    md::Message thought = md::assistant("done");
    thought.content.insert(thought.content.begin(),
                           {md::Reasoning{"hm", "c2ln"}, md::Reasoning{"", "b25seQ=="},
                            md::Reasoning{"", "redacted:ZGF0YQ=="}, md::Reasoning{"another's", ""}});
    const std::vector<md::Message> messages = {thought};
    CHECK(bodyOf({.messages = messages}).at("messages").at(0).at("content") == json::parse(R"([
        {"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"thinking","thinking":"","signature":"b25seQ=="},
        {"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"done"}])"));
}

TEST_CASE("Anthropic's tools, choices, outputs and settings") {
    md::Request request;
    const std::vector<md::ToolDescription> tools = {{.name = "look", .description = "Looks"}};
    request.tools = tools;
    request.tool_choice = md::ToolChoice::required;
    request.output = md::OutputFormat{.schema = R"({"type":"object","properties":{},"additionalProperties":false})"};
    request.settings.stop_sequences = {"a"};
    request.settings.extra = sg::fromJson(json::parse(R"({"thinking":{"type":"adaptive"}})"));
    md::AnthropicOptions options{.model = "m"};
    options.settings.max_output_tokens = 10;
    CHECK(bodyOf(request, options) ==
          json::parse(R"({"model":"m","stream":true,"max_tokens":10,"messages":[],"stop_sequences":["a"],
        "tools":[{"name":"look","description":"Looks","input_schema":{"type":"object","properties":{}}}],
        "tool_choice":{"type":"any"},"thinking":{"type":"adaptive"},
        "output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{},"additionalProperties":false}}}})"));
    request.tool_choice = md::ToolChoice::none;
    CHECK(bodyOf(request, options).at("tool_choice") == json::parse(R"({"type":"none"})"));
    request.required_tool = "look";
    CHECK(bodyOf(request, options).at("tool_choice") == json::parse(R"({"type":"tool","name":"look"})"));
    request.settings.seed = 1;
    CHECK_THROWS_AS(bodyOf(request, options), md::ModelError);
}

TEST_CASE("Anthropic takes pictures and PDFs, by address and as data") {
    md::Message asks = md::user("?");
    asks.content.emplace_back(md::File{"image/png", "https://a/b.png", ""});
    asks.content.emplace_back(md::File{"application/pdf", "", "AAAA"});
    std::vector<md::Message> messages = {asks};
    CHECK(bodyOf({.messages = messages}).at("messages").at(0).at("content") ==
          json::parse(R"([{"type":"text","text":"?"},
        {"type":"image","source":{"type":"url","url":"https://a/b.png"}},
        {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}])"));
    messages[0].content.emplace_back(md::File{"audio/mpeg", "", "AAAA"});
    CHECK_THROWS_AS(bodyOf({.messages = messages}), md::ModelError);
}

TEST_CASE("Anthropic gets texts as documents that are texts") {
    md::Message asks = md::user("?");
    asks.content.emplace_back(md::File{"text/csv", "", "YSxiCg"});
    std::vector<md::Message> messages = {asks};
    CHECK(bodyOf({.messages = messages}).at("messages").at(0).at("content").at(1) ==
          json::parse(R"({"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b\n"}})"));
    messages[0].content = {md::File{"text/csv", "https://a/b.csv", ""}};
    CHECK_THROWS_AS(bodyOf({.messages = messages}), md::ModelError);
}

TEST_CASE("a conversation that ends with the assistant's text does not end with blanks, which the provider refuses") {
    std::vector<md::Message> messages = {md::user("go "), md::assistant("one moment \n\t")};
    json::value body = bodyOf({.messages = messages});
    CHECK(body.at("messages").at(1).at("content").at(0).at("text") == "one moment");
    CHECK(body.at("messages").at(0).at("content").at(0).at("text") == "go ");
    messages.push_back(md::assistant(" \n"));
    messages.push_back(md::assistant("x "));
    body = bodyOf({.messages = messages});
    CHECK(body.at("messages").at(1).at("content").at(0).at("text") == "one moment \n\t");
    CHECK(body.at("messages").at(1).at("content").at(1).at("text") == "x");
    messages.push_back(md::user("and?"));
    CHECK(bodyOf({.messages = messages}).at("messages").at(1).at("content").at(1).at("text") == "x ");
}

TEST_CASE("a turn of the assistant does not end with thoughts, which the provider refuses") {
    md::Message cut = md::assistant("");
    cut.content = {md::Reasoning{"hm", "c2ln"}};
    md::Message late = md::assistant("one moment");
    late.content.insert(late.content.begin(), md::Reasoning{"hm", "c2ln"});
    late.content.emplace_back(md::Reasoning{"well", "c2ln"});
    late.content.emplace_back(md::Reasoning{"", "redacted:ZGF0YQ=="});
    const auto rolesOf = [](const std::vector<md::Message>& messages) {
        std::string roles;
        const json::value body = bodyOf({.messages = messages});
        for (const json::value& turn : body.at("messages").as_array()) {
            roles += turn.at("role").as_string();
            for (const json::value& block : turn.at("content").as_array())
                roles += " " + std::string(block.at("type").as_string());
            roles += "; ";
        }
        return roles;
    };
    const auto hi = md::user("hi");
    CHECK(rolesOf({hi, cut}) == "user text; ");
    CHECK(rolesOf({hi, cut, hi, late, hi}) == "user text text; assistant thinking text; user text; ");
    CHECK(rolesOf({hi, late}) == "user text; assistant thinking text; ");
    // Thoughts before the rest of an answer that the provider paused are sent.
    CHECK(rolesOf({hi, cut, late, hi}) == "user text; assistant thinking thinking text; user text; ");
}
