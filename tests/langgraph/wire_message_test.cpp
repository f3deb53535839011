#include <string>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/model/message.hpp>
#include <stategraph/value.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/wire_message.hpp"

namespace json = boost::json;
namespace sg = stategraph;
using sg::langgraph::fromWire;
using sg::langgraph::MessageForm;
using sg::langgraph::toWire;

namespace {

json::value parsed(const char* text) { return json::parse(text); }

}  // namespace

TEST_CASE("a message is read from a type, a role, a pair or a text") {
    const json::value expected =
        parsed(R"({"type": "human", "content": "hi", "additional_kwargs": {}, "response_metadata": {}})");
    for (const char* const sent :
         {R"({"type": "human", "content": "hi"})", R"({"role": "user", "content": "hi"})", R"(["user", "hi"])",
          R"("hi")", R"({"role": "user", "type": "human", "content": "hi"})"}) {
        CAPTURE(sent);
        CHECK(toWire(fromWire(parsed(sent), MessageForm::langchain, "messages[0]")) == expected);
    }
    CHECK_THROWS_WITH_AS(fromWire(parsed(R"({"content": "hi"})"), MessageForm::langchain, "messages[0]"),
                         "messages[0]: the message has neither a known type nor a known role",
                         sg::langgraph::InvalidRequest);
    CHECK_THROWS_WITH_AS(
        fromWire(parsed(R"({"type": "human", "content": [{"type": "image_url"}]})"), MessageForm::typed, "messages[0]"),
        "messages[0].content: a block of the type 'image_url' has no \"image_url\"", sg::langgraph::InvalidRequest);
}

TEST_CASE("members that nobody knows stay in a message that is stored as JSON") {
    const json::value sent = parsed(
        R"({"type": "ai", "content": "", "id": "a", "additional_kwargs": {"k": 1}, "response_metadata": {},
            "tool_calls": [{"id": "c", "name": "f", "args": {"x": 1}}], "invalid_tool_calls": [], "example": false})");
    CHECK(toWire(fromWire(sent, MessageForm::langchain, "messages")) == sent);
}

TEST_CASE("a typed message goes to a client and comes back as it was") {
    sg::model::Message said = sg::model::assistant("found");
    said.id = "ai-1";
    said.calls = {{.id = "call_1", .name = "search", .arguments = R"({"q":"owls"})"}};
    const json::value shown = toWire(sg::toJsonValue(sg::Value(said)));
    CHECK(shown.at("type") == "ai");
    CHECK(shown.at("content") == "found");
    CHECK(shown.at("tool_calls") ==
          parsed(R"([{"id": "call_1", "name": "search", "args": {"q": "owls"}, "type": "tool_call"}])"));
    const json::value read = fromWire(shown, MessageForm::typed, "messages[0]");
    CHECK(sg::fromJson<sg::model::Message>(read) == said);
}

TEST_CASE("what an answer has used is told in LangChain's words") {
    sg::model::Message said = sg::model::assistant("found");
    said.usage = sg::model::Usage{
        .input_tokens = 9, .output_tokens = 5, .reasoning_tokens = 2, .cached_tokens = 4, .cache_write_tokens = 1};
    CHECK(toWire(sg::toJsonValue(sg::Value(said))).at("usage_metadata") ==
          parsed(R"({"input_tokens": 9, "output_tokens": 5, "total_tokens": 14,
                     "input_token_details": {"cache_read": 4, "cache_creation": 1},
                     "output_token_details": {"reasoning": 2}})"));
}

TEST_CASE("a tool's result is a message of the type tool") {
    const sg::model::Message result = sg::model::toolResult({.id = "call_1", .name = "search"}, sg::Value("an owl"));
    const json::value shown = toWire(sg::toJsonValue(sg::Value(result)));
    CHECK(shown.at("type") == "tool");
    CHECK(shown.at("tool_call_id") == "call_1");
    CHECK(shown.at("content") == "an owl");
    const json::value read = fromWire(shown, MessageForm::typed, "messages[0]");
    CHECK(sg::fromJson<sg::model::Message>(read).result == result.result);
}

TEST_CASE("arguments that are no object are an invalid call") {
    sg::model::Message said = sg::model::assistant({{.id = "call_1", .name = "search", .arguments = "{\"q\":"}});
    const json::value shown = toWire(sg::toJsonValue(sg::Value(said)));
    CHECK(shown.at("tool_calls").as_array().empty());
    CHECK(shown.at("invalid_tool_calls").at(0).at("args") == "{\"q\":");
}

TEST_CASE("a result with a picture for the model has blocks as its content and its output as the artifact") {
    sg::model::Message result =
        sg::model::toolResult({.id = "call_1", .name = "look"}, sg::parseJson(R"({"of":"sky"})"));
    result.content = {sg::model::Text{"the sky"}, sg::model::File{.media_type = "image/png", .data = "cG5n"}};
    const json::value shown = toWire(sg::toJsonValue(sg::Value(result)));
    CHECK(shown.at("content") == parsed(R"([{"type": "text", "text": "the sky"},
                                            {"type": "image", "mime_type": "image/png", "base64": "cG5n"}])"));
    CHECK(shown.at("artifact") == parsed(R"({"of": "sky"})"));
    const auto read = sg::fromJson<sg::model::Message>(fromWire(shown, MessageForm::typed, "messages[0]"));
    CHECK(read.result == result.result);
    CHECK(read.content == result.content);
    const auto sent = sg::fromJson<sg::model::Message>(
        fromWire(parsed(R"({"type": "tool", "tool_call_id": "call_1", "name": "look", "content": [
            {"type": "text", "text": "sky"}, {"type": "image", "mime_type": "image/png", "base64": "cG5n"}]})"),
                 MessageForm::typed, "messages[0]"));
    CHECK(sent.result->text() == "sky");
    CHECK(sent.content.size() == 2);
}
