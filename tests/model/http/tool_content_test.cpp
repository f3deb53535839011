#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>

#include "model/http/anthropic_request.hpp"
#include "model/http/gemini_request.hpp"
#include "model/http/openai_request.hpp"
#include "model/http/responses_request.hpp"

// What models receive of results with pictures and files, and options for single elements, in each format.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace json = boost::json;

md::ToolCall lookCall() { return {.id = "1", .provider_id = "c1", .name = "look", .arguments = R"({"x":1})"}; }

md::Message withContent(md::Message result, std::vector<md::Part> content) {
    result.content = std::move(content);
    return result;
}

const md::File picture{.media_type = "image/png", .data = "cG5n"};
const md::File paper{.media_type = "application/pdf", .data = "cGRm"};
const md::File sound{.media_type = "audio/wav", .data = "d2F2"};
const md::File note{.media_type = "text/plain", .data = "bm90ZQ=="};

/// A call and its result, which has this content.
std::vector<md::Message> conversation(std::vector<md::Part> content, bool is_error = false) {
    return {md::user("look"), md::assistant({lookCall()}),
            withContent(md::toolResult(lookCall(), "stored", is_error), std::move(content))};
}
const std::vector<md::Part> all = {md::Text{"a red ball"}, picture, paper, sound, note};

json::value anthropicBody(const md::Request& request) {
    return json::parse(md::http::anthropicBody({.model = "m"}, request));
}
json::value openAiBody(const md::Request& request) {
    return json::parse(md::http::openAiBody({.model = "m"}, request));
}
json::value responsesBody(const md::Request& request) {
    return json::parse(md::http::responsesBody({.model = "m"}, request, {"host", "m"}));
}
json::value geminiBody(const md::Request& request, const std::string& model = "gemini-3-pro") {
    return json::parse(md::http::geminiBody({.model = model}, request, "host"));
}

}  // namespace

TEST_CASE("Anthropic receives a tool's pictures and documents as blocks of the result, and a line for a sound") {
    const std::vector<md::Message> messages = conversation(all);
    CHECK(anthropicBody({.messages = messages}).at("messages").at(2) == json::parse(R"({"role":"user","content":[
        {"type":"tool_result","tool_use_id":"c1","content":[
            {"type":"text","text":"a red ball"},
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},
            {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"}},
            {"type":"text","text":"[audio/wav, which cannot be shown here]"},
            {"type":"document","source":{"type":"text","media_type":"text/plain","data":"note"}}]}]})"));
}

TEST_CASE("a failed call has texts alone in Anthropic's format, which allows no pictures in it") {
    const std::vector<md::Message> messages = conversation({md::Text{"broken"}, picture}, true);
    CHECK(anthropicBody({.messages = messages}).at("messages").at(2).at("content").at(0) ==
          json::parse(R"({"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"broken\n[image/png]"})"));
}

TEST_CASE("pictures that a provider refuses, and blank texts, are replaced by texts that say so") {
    const md::File bitmap{.media_type = "image/bmp", .data = "Ym1w"};
    const md::File moving{.media_type = "image/gif", .data = "Z2lm"};
    const std::vector<md::Message> messages = conversation({md::Text{" \n"}, bitmap, moving});
    CHECK(anthropicBody({.messages = messages}).at("messages").at(2).at("content").at(0).at("content") ==
          json::parse(R"([
        {"type":"text","text":"[an empty text]"},
        {"type":"text","text":"[image/bmp, which cannot be shown here]"},
        {"type":"image","source":{"type":"base64","media_type":"image/gif","data":"Z2lm"}}])"));
    const json::value gemini = geminiBody({.messages = messages}).at("contents").at(2).at("parts");
    CHECK(!gemini.at(0).at("functionResponse").as_object().contains("parts"));
    CHECK(gemini.at(1) == json::parse(R"({"text":"[image/bmp, which cannot be shown here]"})"));
    CHECK(gemini.at(2) == json::parse(R"({"text":"[image/gif, which cannot be shown here]"})"));

    std::vector<md::Message> blank = {md::user("look"), md::assistant({lookCall()}),
                                      md::toolResult(lookCall(), "", true)};
    CHECK(anthropicBody({.messages = blank}).at("messages").at(2).at("content").at(0).at("content") ==
          "[an empty text]");
    // A person's picture is refused with a sentence, as other files are.
    blank = {md::user("look at this")};
    blank.front().content.emplace_back(bitmap);
    CHECK_THROWS_WITH_AS(anthropicBody({.messages = blank}), doctest::Contains("image/webp"), md::ModelError);
}

TEST_CASE("the Responses API receives a tool's pictures and files in the output of the call") {
    const std::vector<md::Message> messages = conversation(all);
    CHECK(responsesBody({.messages = messages}).at("input").at(2) == json::parse(R"({
        "type":"function_call_output","call_id":"c1","output":[
            {"type":"input_text","text":"a red ball"},
            {"type":"input_image","image_url":"data:image/png;base64,cG5n"},
            {"type":"input_file","filename":"file.pdf","file_data":"data:application/pdf;base64,cGRm"},
            {"type":"input_text","text":"[audio/wav, which cannot be shown here]"},
            {"type":"input_text","text":"note"}]})"));
}

TEST_CASE("chat completions receive a tool's files in a message of the user after all results of the turn") {
    md::ToolCall other = lookCall();
    other.id = "2";
    other.provider_id = "c2";
    std::vector<md::Message> messages = {md::user("look"), md::assistant({lookCall(), other}),
                                         withContent(md::toolResult(lookCall(), "stored"), all),
                                         md::toolResult(other, "nothing"), md::user("and?")};
    const json::value sent = openAiBody({.messages = messages}).at("messages");
    CHECK(sent.at(2) == json::parse(R"({"role":"tool","tool_call_id":"c1",
        "content":"a red ball\n[image/png]\n[application/pdf]\n[audio/wav]\nnote"})"));
    CHECK(sent.at(3) == json::parse(R"({"role":"tool","tool_call_id":"c2","content":"nothing"})"));
    CHECK(sent.at(4) == json::parse(R"({"role":"user","content":[
        {"type":"text","text":"Files that the tool 'look' returned (call c1):"},
        {"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},
        {"type":"file","file":{"filename":"file.pdf","file_data":"data:application/pdf;base64,cGRm"}},
        {"type":"input_audio","input_audio":{"data":"d2F2","format":"wav"}}]})"));
    CHECK(sent.at(5).at("content") == "and?");

    messages = conversation({md::Text{"only"}, md::Text{"texts"}});
    const json::value plain = openAiBody({.messages = messages}).at("messages");
    CHECK(plain.as_array().size() == 3);
    CHECK(plain.at(2).at("content") == "only\ntexts");
}

TEST_CASE("Gemini 3 receives a tool's files in the function's response, and earlier models after it") {
    const std::vector<md::Message> messages = conversation({md::Text{"a red ball"}, picture, sound});
    const json::value response =
        json::parse(R"({"id":"c1","name":"look","response":{"output":"a red ball\n[image/png]\n[audio/wav]"}})");
    const json::value files = json::parse(R"([{"inlineData":{"mimeType":"image/png","data":"cG5n"}},
                                              {"inlineData":{"mimeType":"audio/wav","data":"d2F2"}}])");
    json::value newer = response;
    newer.as_object()["parts"] = json::array{files.at(0)};  // which has no sounds
    CHECK(geminiBody({.messages = messages}).at("contents").at(2).at("parts") ==
          json::array{json::object{{"functionResponse", newer}}, files.at(1)});
    CHECK(geminiBody({.messages = messages}, "gemini-2.5-flash").at("contents").at(2).at("parts") ==
          json::array{json::object{{"functionResponse", response}}, files.at(0), files.at(1)});
}

TEST_CASE("options belong to the part before them, or to the message, and are sent in their format alone") {
    const std::string mark = R"({"cache_control":{"type":"ephemeral"}})";
    md::Message said = md::user("long");
    said.content.emplace_back(md::providerOptions("anthropic", mark));
    said.content.emplace_back(md::providerOptions("openai", R"({"name":"part"})"));
    said.content.emplace_back(md::providerOptions("openai-responses", R"({"prompt_cache_breakpoint":{}})"));
    said.content.emplace_back(md::providerOptions("gemini", R"({"mediaResolution":{"level":"low"}})"));
    said.content.emplace_back(md::Text{"short"});
    said.content.insert(said.content.begin(), md::providerOptions("openai", R"({"name":"ann"})"));
    const std::vector<md::Message> messages = {said};
    CHECK(anthropicBody({.messages = messages}).at("messages").at(0).at("content") == json::parse(R"([
        {"type":"text","text":"long","cache_control":{"type":"ephemeral"}},{"type":"text","text":"short"}])"));
    CHECK(openAiBody({.messages = messages}).at("messages").at(0) == json::parse(R"({"role":"user","name":"ann",
        "content":[{"type":"text","text":"long","name":"part"},{"type":"text","text":"short"}]})"));
    CHECK(responsesBody({.messages = messages}).at("input").at(0) == json::parse(R"({"role":"user",
        "content":[{"type":"input_text","text":"long","prompt_cache_breakpoint":{}},
                   {"type":"input_text","text":"short"}]})"));
    CHECK(geminiBody({.messages = messages}).at("contents").at(0).at("parts") ==
          json::parse(R"([{"text":"long","mediaResolution":{"level":"low"}},{"text":"short"}])"));
}

TEST_CASE("an option that is an object is added to the library's object of that name, and a null removes a member") {
    md::Message said;
    said.content = {picture, md::providerOptions("openai", R"({"image_url":{"detail":"low"},"type":null})")};
    const std::vector<md::Message> messages = {said};
    CHECK(openAiBody({.messages = messages}).at("messages").at(0).at("content").at(0) ==
          json::parse(R"({"image_url":{"url":"data:image/png;base64,cG5n","detail":"low"}})"));
}

TEST_CASE("options of a message with calls, or of a result, belong to its last block") {
    const md::ProviderPart mark = md::providerOptions("anthropic", R"({"cache_control":{"type":"ephemeral"}})");
    std::vector<md::Message> messages = conversation({mark});
    messages[1].content.emplace_back(mark);
    const json::value sent = anthropicBody({.messages = messages}).at("messages");
    CHECK(sent.at(1).at("content").at(0).at("cache_control").at("type") == "ephemeral");
    CHECK(sent.at(2).at("content").at(0) ==
          json::parse(
              R"({"type":"tool_result","tool_use_id":"c1","content":"stored","cache_control":{"type":"ephemeral"}})"));
}

TEST_CASE("options of tools and of the instructions are members of their elements, by format") {
    const sg::Value extra = sg::parseJson(
        R"({"anthropic":{"cache_control":{"type":"ephemeral"}},"openai":{"strict":true,"name":"x"},"gemini":{"behavior":"NON_BLOCKING"}})");
    md::ToolDescription tool{.name = "look"};
    tool.extra = extra;
    const std::vector<md::ToolDescription> tools = {tool};
    const std::vector<md::Message> messages = {md::user("hi")};
    md::Request request{.instructions = "be brief", .messages = messages, .tools = tools};
    request.settings.instructions_extra = extra;
    const json::value anthropic = anthropicBody(request);
    CHECK(anthropic.at("system") ==
          json::parse(R"([{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}])"));
    CHECK(anthropic.at("tools").at(0).at("cache_control").at("type") == "ephemeral");
    CHECK(openAiBody(request).at("messages").at(0) ==
          json::parse(R"({"role":"system","content":"be brief","strict":true,"name":"x"})"));
    CHECK(openAiBody(request).at("tools").at(0).at("strict") == true);
    CHECK(responsesBody(request).at("tools").at(0).at("strict") == false);
    CHECK(geminiBody(request).at("tools").at(0).at("functionDeclarations").at(0).at("behavior") == "NON_BLOCKING");
}

TEST_CASE("options that are no JSON object are an error before anything is sent") {
    md::Message said = md::user("hi");
    said.content.emplace_back(md::providerOptions("anthropic", "7"));
    const std::vector<md::Message> messages = {said};
    CHECK_THROWS_AS(anthropicBody({.messages = messages}), md::ModelError);
    CHECK(openAiBody({.messages = messages}).at("messages").at(0).at("content") == "hi");
    md::ToolDescription tool{.name = "look"};
    tool.extra = sg::parseJson(R"({"anthropic":7})");
    const std::vector<md::ToolDescription> tools = {tool};
    CHECK_THROWS_AS(anthropicBody({.tools = tools}), md::ModelError);
}
