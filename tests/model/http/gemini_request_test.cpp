#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>

#include "model/http/gemini_answer.hpp"
#include "model/http/gemini_request.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/model/http/read_answer.hpp"
#include "tests/support/seed.hpp"

namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace json = boost::json;

json::value bodyOf(const md::Request& request, const md::GeminiOptions& options = {.model = "gemini-2.5-pro"}) {
    return json::parse(md::http::geminiBody(options, request, "host"));
}
json::value contentsOf(std::vector<md::Message> messages, const std::string& model = "gemini-2.5-pro") {
    return bodyOf({.messages = messages}, {.model = model}).at("contents");
}
md::Message answered(const std::string& parts) {
    return answers::readAs<md::http::GeminiAnswer>(
               {R"({"candidates":[{"content":{"parts":)" + parts + R"(},"finishReason":"STOP"}]})"}, "host")
        .reply.message;
}

/// Where the signatures are: after how much text, and on what.
std::vector<std::string> signaturesOf(const json::array& parts, std::string& text) {
    std::vector<std::string> found;
    for (const json::value& each : parts) {
        const json::object& part = each.as_object();
        const bool is_thought = part.contains("thought");
        if (part.contains("text") && !is_thought) text += std::string(part.at("text").as_string());
        if (!part.contains("thoughtSignature")) continue;
        const char* const kind = part.contains("functionCall") ? "call"
                                 : part.contains("inlineData") ? "file"
                                 : is_thought                  ? "thought"
                                                               : "text";
        found.push_back(std::to_string(text.size()) + " " + kind + " " +
                        std::string(part.at("thoughtSignature").as_string()));
    }
    return found;
}

}  // namespace

TEST_CASE("a request in Gemini's format has the system instruction apart, and joined turns") {
    const std::vector<md::Message> messages = {md::user("hi"), md::system("be brief"), md::user("there \xff"),
                                               md::assistant("yes"), md::user("")};
    CHECK(bodyOf({.instructions = "you are", .messages = messages}) == json::parse(R"({
        "systemInstruction":{"parts":[{"text":"you are"},{"text":"be brief"}]},
        "contents":[{"role":"user","parts":[{"text":"hi"},{"text":"there )"
                                                                                   "\xEF\xBF\xBD"
                                                                                   R"("}]},
                    {"role":"model","parts":[{"text":"yes"}]}]})"));
}

TEST_CASE("calls have the server's ids where it gave some, and results their value as output or error") {
    const md::ToolCall named{.id = "1", .provider_id = "f1", .name = "look", .arguments = R"({"x":1})"};
    const md::ToolCall nameless{.id = "2", .name = "wait"};
    CHECK(contentsOf({md::user("hi"), md::assistant({named, nameless}),
                      md::toolResult(named, sg::parseJson(R"({"color":"red"})")),
                      md::toolResult(nameless, "no time", true)}) == json::parse(R"([
        {"role":"user","parts":[{"text":"hi"}]},
        {"role":"model","parts":[{"functionCall":{"id":"f1","name":"look","args":{"x":1}}},
                                 {"functionCall":{"name":"wait","args":{}}}]},
        {"role":"user","parts":[
            {"functionResponse":{"id":"f1","name":"look","response":{"output":{"color":"red"}}}},
            {"functionResponse":{"name":"wait","response":{"error":"no time"}}}]}])"));
    const std::vector<md::Message> alone = {md::toolResult(named, 1)};
    CHECK_THROWS_AS(bodyOf({.messages = alone}), md::ModelError);
}

TEST_CASE("signatures go back with the parts that had them, to the same server") {
    const std::string parts = R"([{"text":"hm","thought":true},{"text":"I "},{"text":"look","thoughtSignature":"s1"},
        {"text":"","thoughtSignature":"s2"},
        {"functionCall":{"name":"look","args":{"x":1}},"thoughtSignature":"s3"},
        {"functionCall":{"name":"wait","args":{}}}])";
    const md::Message message = answered(parts);
    CHECK(contentsOf({message}).at(0).at("parts") == json::parse(R"([{"text":"I look","thoughtSignature":"s1"},
        {"text":"","thoughtSignature":"s2"},
        {"functionCall":{"name":"look","args":{"x":1}},"thoughtSignature":"s3"},
        {"functionCall":{"name":"wait","args":{}}}])"));
    const std::vector<md::Message> messages = {message};
    const json::value elsewhere =
        json::parse(md::http::geminiBody({.model = "gemini-2.5-pro"}, {.messages = messages}));
    CHECK(elsewhere.at("contents").at(0).at("parts") == json::parse(R"([{"text":"I look"},
        {"functionCall":{"name":"look","args":{"x":1}}},{"functionCall":{"name":"wait","args":{}}}])"));
}

TEST_CASE("a thought that is signed goes back, and others do not") {
    const std::string parts = R"([{"text":"hm ","thought":true},{"text":"m","thought":true,"thoughtSignature":"s1"},
        {"text":"I look"}])";
    CHECK(contentsOf({answered(parts)}).at(0).at("parts") ==
          json::parse(R"([{"text":"hm m","thought":true,"thoughtSignature":"s1"},{"text":"I look"}])"));
}

TEST_CASE("of an answer that was edited or pruned, the message counts and not what was kept") {
    md::Message message = answered(R"([{"text":"secret","thoughtSignature":"s1"},
        {"functionCall":{"name":"look","args":{}},"thoughtSignature":"s3"},{"functionCall":{"name":"wait"}}])");
    std::get<md::Text>(message.content[0]).text = "[redacted]";
    message.calls.erase(message.calls.begin());
    CHECK(contentsOf({message}).at(0).at("parts") ==
          json::parse(R"([{"text":"[redacted]"},{"functionCall":{"name":"wait","args":{}}}])"));
    // The third generation refuses a call without a signature, unless it is said that there is none.
    CHECK(contentsOf({message}, "gemini-3-flash").at(0).at("parts").at(1).at("thoughtSignature") ==
          "skip_thought_signature_validator");
}

TEST_CASE("a picture of the model goes back with its signature, and a call's first signature covers the others") {
    const md::Message picture =
        answered(R"([{"text":"here:"},{"inlineData":{"mimeType":"image/png","data":"cG5n"},"thoughtSignature":"s1"}])");
    CHECK(contentsOf({picture}, "gemini-3-pro-image").at(0).at("parts") ==
          json::parse(
              R"([{"text":"here:"},{"inlineData":{"mimeType":"image/png","data":"cG5n"},"thoughtSignature":"s1"}])"));
    const md::Message calls =
        answered(R"([{"functionCall":{"name":"a"},"thoughtSignature":"s1"},{"functionCall":{"name":"b"}}])");
    CHECK(
        contentsOf({calls}, "gemini-3-pro").at(0).at("parts") ==
        json::parse(
            R"([{"functionCall":{"name":"a","args":{}},"thoughtSignature":"s1"},{"functionCall":{"name":"b","args":{}}}])"));
}

TEST_CASE("code that Gemini ran goes back with its result, in its place") {
    const std::string parts = R"([{"text":"let me see"},{"executableCode":{"language":"PYTHON","code":"1+1"}},
        {"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"},"thoughtSignature":"s"},{"text":"two"}])";
    CHECK(contentsOf({answered(parts)}).at(0).at("parts") == json::parse(parts));
}

TEST_CASE("Gemini's tools, choices, output and settings") {
    const std::vector<md::ToolDescription> tools = {
        {.name = "look",
         .description = "looks",
         .parameters = R"({"type":"object","properties":{"x":{"type":"integer"}}})"},
        {.name = "wait", .description = "waits"},
        {.name = "search", .provider = R"({"googleSearch":{}})"}};
    md::Request request{.tools = tools, .required_tool = "look"};
    request.output = md::OutputFormat{.schema = R"({"type":"object"})"};
    request.settings = {.max_output_tokens = 5, .temperature = 0.5, .seed = 7, .stop_sequences = {"x"}};
    request.settings.extra =
        sg::parseJson(R"({"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"},"seed":null},
        "safetySettings":[],"toolConfig":{"includeServerSideToolInvocations":true}})");
    CHECK(bodyOf(request) == json::parse(R"({"contents":[],
        "tools":[{"googleSearch":{}},{"functionDeclarations":[
            {"name":"look","description":"looks",
             "parametersJsonSchema":{"type":"object","properties":{"x":{"type":"integer"}}}},
            {"name":"wait","description":"waits"}]}],
        "toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["look"]},
                      "includeServerSideToolInvocations":true},
        "generationConfig":{"maxOutputTokens":5,"temperature":0.5,"stopSequences":["x"],
            "responseMimeType":"application/json","responseJsonSchema":{"type":"object"},
            "thinkingConfig":{"thinkingLevel":"low"}},
        "safetySettings":[]})"));
    CHECK(bodyOf({.tools = tools, .tool_choice = md::ToolChoice::none}).at("toolConfig").at("functionCallingConfig") ==
          json::parse(R"({"mode":"NONE"})"));
    CHECK(bodyOf({.tools = tools, .tool_choice = md::ToolChoice::required})
              .at("toolConfig")
              .at("functionCallingConfig") == json::parse(R"({"mode":"ANY"})"));
}

TEST_CASE("files are sent to Gemini as data or by address, and texts as texts") {
    md::Message said;
    said.content = {md::File{.media_type = "image/*", .data = "cG5n"},
                    md::File{.media_type = "application/pdf", .url = "https://x/a.pdf"},
                    md::File{.media_type = "audio/wav", .data = "d2F2"},
                    md::File{.media_type = "text/csv", .data = "YSxi"}};
    CHECK(contentsOf({said}).at(0).at("parts") == json::parse(R"([
        {"inlineData":{"mimeType":"image/jpeg","data":"cG5n"}},
        {"fileData":{"fileUri":"https://x/a.pdf","mimeType":"application/pdf"}},
        {"inlineData":{"mimeType":"audio/wav","data":"d2F2"}},{"text":"a,b"}])"));
}

TEST_CASE("signatures of random answers stay where they were") {
    const unsigned seed = tests::seed();
    INFO("seed " << seed);
    bytes::Random random(seed);
    for (int round = 0; round < 300; ++round) {
        json::array parts;
        const std::size_t calls = random.below(3);
        const std::size_t count = 1 + random.below(6) + calls;
        for (std::size_t i = 0; i < count; ++i) {
            json::object part;
            if (i + calls >= count) {
                part["functionCall"] = json::object{{"name", "f" + std::to_string(i)}, {"args", json::object()}};
            } else if (random.chance(5)) {
                part["inlineData"] = json::object{{"mimeType", "image/png"}, {"data", "cG5n"}};
            } else {
                part["text"] = std::string(random.below(4), static_cast<char>('a' + i)) + (random.chance(4) ? "ä" : "");
                if (random.chance(4)) part["thought"] = true;
            }
            if (random.chance(2)) part["thoughtSignature"] = "s" + std::to_string(i);
            parts.push_back(std::move(part));
        }
        const json::value sent = contentsOf({answered(json::serialize(parts))});
        std::string text;
        std::string sent_text;
        CAPTURE(json::serialize(parts));
        const auto expected = signaturesOf(parts, text);
        if (sent.as_array().empty()) {
            CHECK(text.empty());
            CHECK(expected.empty());
            continue;
        }
        CHECK(signaturesOf(sent.at(0).at("parts").as_array(), sent_text) == expected);
        CHECK(sent_text == text);
    }
}
