#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/http/gemini_answer.hpp"
#include "tests/model/http/read_answer.hpp"

namespace {

namespace md = stategraph::model;
using answers::has;
using answers::Read;
using Strings = std::vector<std::string>;

Read read(const Strings& events) { return answers::readAs<md::http::GeminiAnswer>(events, "host"); }

std::string piece(const std::string& parts, const std::string& more = "") {
    return R"({"candidates":[{"content":{"role":"model","parts":[)" + parts + R"(]},"index":0)" + more +
           R"(}],"modelVersion":"gemini-3-pro","responseId":"r1"})";
}
std::string end(const std::string& reason) { return piece("", R"(,"finishReason":")" + reason + "\""); }

md::ModelError errorOf(const Strings& events) { return answers::errorOf(read, events); }

}  // namespace

TEST_CASE("a streamed answer of Gemini is put together from its pieces, with what it cost") {
    const Read all =
        read({piece(R"({"text":"h","thought":true})"), piece(R"({"text":"m","thought":true})"),
              piece(R"({"text":"I "})"), piece(R"({"text":"look"})", R"(,"safetyRatings":[])"),
              piece(R"({"functionCall":{"id":"f1","name":"look","args":{"x":1}},"thoughtSignature":"s"},
                  {"functionCall":{"name":"wait"}},{"unknown":{}},7)"),
              R"({"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}],"usageMetadata":{
             "promptTokenCount":20,"cachedContentTokenCount":8,"candidatesTokenCount":10,"thoughtsTokenCount":5,
             "toolUsePromptTokenCount":3,"totalTokenCount":38}})"});
    CHECK(all.told == Strings{"reasoning h", "reasoning m", "text I ", "text look", "call 0 look#f1",
                              R"(arguments 0 {"x":1})", "call 1 wait"});
    const md::Message& message = all.reply.message;
    CHECK(message.text() == "I look");
    CHECK(std::get<md::Reasoning>(message.content.at(0)).text == "hm");
    CHECK(message.calls.at(0).provider_id == "f1");
    CHECK(message.calls.at(0).arguments == R"({"x":1})");
    CHECK(message.calls.at(1).arguments == "{}");
    CHECK((message.finish_reason == md::FinishReason::tool_calls));
    CHECK((message.usage == md::Usage{23, 15, 5, 8, 0}));
    CHECK(all.reply.response_id == "r1");
    CHECK(all.reply.model == "gemini-3-pro");
}

TEST_CASE("pictures, code that was run and pages that were found are parts of Gemini's answer") {
    const std::string sources =
        R"(,"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://a","title":"A"}},{}]})";
    const Read all = read({piece(R"({"executableCode":{"language":"PYTHON","code":"1+1"}})"),
                           piece(R"({"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}})"),
                           piece(R"({"inlineData":{"mimeType":"image/png","data":"ZHJhZnQ="},"thought":true})"),
                           piece(R"({"inlineData":{"mimeType":"image/png","data":"cG5n"}})", sources),
                           piece(R"({"text":"two"})", sources + R"(,"finishReason":"STOP")")});
    const auto& content = all.reply.message.content;
    REQUIRE(content.size() == 5);
    const auto& call = std::get<md::ProviderPart>(content[0]);
    const auto& result = std::get<md::ProviderPart>(content[1]);
    CHECK(call.name == "code_execution");
    CHECK(call.call_id == result.call_id);
    CHECK((result.kind == md::ProviderPartKind::result));
    CHECK((content[2] == md::Part(md::File{.media_type = "image/png", .data = "cG5n"})));
    CHECK(all.reply.message.text() == "two");
    CHECK(std::get<md::ProviderPart>(content[4]).data == R"({"type":"web","url":"https://a","title":"A"})");
}

TEST_CASE("Gemini's reasons of stopping are ours") {
    const auto reasonFor = [](const std::string& reason) {
        return read({piece(R"({"text":"x"})"), end(reason)}).reply.message.finish_reason;
    };
    CHECK((reasonFor("STOP") == md::FinishReason::stop));
    CHECK((reasonFor("MAX_TOKENS") == md::FinishReason::length));
    for (const char* const filtered :
         {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"})
        CHECK((reasonFor(filtered) == md::FinishReason::content_filter));
    CHECK((reasonFor("OTHER") == md::FinishReason::other));
    CHECK((reasonFor("SOMETHING_NEW") == md::FinishReason::other));
    const Read cut = read({piece(R"({"functionCall":{"name":"a"}})"), end("MAX_TOKENS")});
    CHECK((cut.reply.message.finish_reason == md::FinishReason::length));
}

TEST_CASE("a prompt that Gemini refuses gives an empty answer of the content filter") {
    const Read blocked =
        read({R"({"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4}})"});
    CHECK((blocked.reply.message.finish_reason == md::FinishReason::content_filter));
    CHECK(blocked.reply.message.content.empty());
    CHECK(blocked.reply.message.usage->input_tokens == 4);
}

TEST_CASE("a call that Gemini wrote wrongly, and an answer without an end, are errors that may pass") {
    const auto malformed = errorOf(
        {R"({"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"call:x"}]})"});
    CHECK(malformed.isRetryable());
    CHECK(has(malformed, "wrote a call that cannot be read (MALFORMED_FUNCTION_CALL): call:x"));
    const auto cut = errorOf({piece(R"({"text":"x"})")});
    CHECK(cut.isRetryable());
    CHECK(has(cut, "it was cut off"));
    CHECK(errorOf({"{\"candidates\":[{"}).isRetryable());
    CHECK(!errorOf({end("MISSING_THOUGHT_SIGNATURE")}).isRetryable());
    CHECK(has(errorOf({piece(R"({"functionCall":{"args":{}}})"), end("STOP")}), "without its name"));
}

TEST_CASE("errors inside Gemini's stream have their status, and whether they may pass") {
    const auto overloaded =
        errorOf({piece(R"({"text":"x"})"), R"({"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}})"});
    CHECK(overloaded.status() == 503);
    CHECK(overloaded.isRetryable());
    const auto wrong = errorOf({R"({"error":{"message":"no such field","status":"INVALID_ARGUMENT"}})"});
    CHECK(wrong.status() == 400);
    CHECK(!wrong.isRetryable());
}

TEST_CASE("half pairs of surrogates in Gemini's pieces are mended, and the rest is read") {
    const Read all = read({piece(R"({"text":"a\ud83d"})"), piece(R"({"text":"b"})"), end("STOP")});
    CHECK(all.reply.message.text() ==
          "a\xEF\xBF\xBD"
          "b");
}

TEST_CASE("pieces with the other spelling of names, and candidates of other places, are read leniently") {
    const Read all = read({R"({"candidates":[{"index":1,"content":{"parts":[{"text":"other"}]}},
        {"content":{"parts":[{"inline_data":{"mime_type":"image/png","data":"eA=="}},
        {"function_call":{"name":"a","args":"{\"x\":1}"},"thought_signature":"s"}]},"finishReason":"STOP"}]})",
                           "[DONE]"});
    CHECK(all.reply.message.text().empty());
    CHECK(all.reply.message.calls.at(0).arguments == R"({"x":1})");
    CHECK((all.reply.message.content.at(0) == md::Part(md::File{.media_type = "image/png", .data = "eA=="})));
}
