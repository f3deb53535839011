#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "model/http/openai_answer.hpp"
#include "model/http/provider_error.hpp"
#include "model/http/sse_parser.hpp"
#include "tests/model/http/read_answer.hpp"

// Answers of local servers with OpenAI's format, as their documentation and their users show them: llama.cpp, Ollama
// and vLLM.
namespace {

namespace md = stategraph::model;
namespace http = stategraph::model::http;
using answers::Read;
using Strings = std::vector<std::string>;

/// Reads the bytes of an answer as they are on the wire.
Read readWire(std::string_view bytes) {
    Read out;
    const std::function<void(const md::Delta&)> tell = [&](const md::Delta& delta) {
        out.told.push_back(answers::lineOf(delta));
    };
    http::Listener listener(tell);
    http::OpenAiAnswer answer({"http://x", "key"}, listener, "localhost");
    http::SseParser parser(1U << 20U);
    parser.feed(bytes, [&](std::string_view name, std::string_view data) { answer.take(name, data); });
    out.reply = answer.finish();
    return out;
}

md::ModelError errorOf(std::string_view bytes) {
    try {
        readWire(bytes);
    } catch (const md::ModelError& error) {
        return error;
    }
    FAIL("no error");
    return {"", {}};
}
bool has(const md::ModelError& error, const char* text) {
    return std::string(error.what()).find(text) != std::string::npos;
}

/// An event with this delta, and the reason with which the answer ends, as JSON.
std::string delta(const std::string& delta, const std::string& reason = "null") {
    return R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m",)"
           R"("system_fingerprint":"fp","choices":[{"index":0,"delta":)" +
           delta + R"(,"finish_reason":)" + reason + "}]}\n\n";
}
const std::string done = "data: [DONE]\n\n";

}  // namespace

TEST_CASE("llama.cpp's thoughts, pieces of calls and timings are read") {
    const Read all = readWire(
        delta(R"({"role":"assistant","content":null})") + delta(R"({"reasoning_content":"hm"})") +
        delta(
            R"({"tool_calls":[{"index":0,"id":"Xq1","type":"function","function":{"name":"look","arguments":"{"}}]})") +
        delta(R"({"tool_calls":[{"index":0,"function":{"arguments":"\"x\":1}"}}]})") + delta("{}", "\"tool_calls\"") +
        R"(data: {"choices":[],"created":1,"id":"chatcmpl-1","model":"m","object":"chat.completion.chunk","usage":)"
        R"({"completion_tokens":9,"prompt_tokens":20,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":7}},)"
        R"("timings":{"cache_n":7,"prompt_n":13}})"
        "\n\n" +
        done);
    CHECK((all.reply.message.usage == md::Usage{20, 9, 0, 7}));
    CHECK(std::get<md::Reasoning>(all.reply.message.content.at(0)).text == "hm");
    CHECK(all.reply.message.calls.at(0).provider_id == "Xq1");
    CHECK(all.reply.message.calls.at(0).arguments == R"({"x":1})");
    CHECK((all.reply.message.finish_reason == md::FinishReason::tool_calls));
}

TEST_CASE("llama.cpp's errors inside an answer, in both of its forms, and before one are errors with its words") {
    const std::string error = R"({"code":500,"message":"context shift is disabled","type":"server_error"})";
    CHECK(has(errorOf(delta(R"({"content":"x"})") + "data: {\"error\":" + error + "}\n\n"), "context shift"));
    const md::ModelError older = errorOf(delta(R"({"content":"x"})") + "error: " + error + "\n\n");
    CHECK(has(older, "context shift is disabled (server_error)"));
    CHECK(older.status() == 500);
    const md::ModelError loading =
        http::refusal({"http://x", ""}, {.status = 503},
                      R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})", {});
    CHECK(loading.isRetryable());
    const md::ModelError large = http::refusal(
        {"http://x", ""}, {.status = 400},
        R"({"error":{"code":400,"message":"too large","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}})",
        {});
    CHECK(!large.isRetryable());
    CHECK(has(large, "too large (exceed_context_size_error)"));
}

TEST_CASE("Ollama's calls are whole, and several of them may all have the index 0, also without ids") {
    const auto call = [](const std::string& id, const std::string& arguments) {
        return delta(R"({"role":"assistant","content":"","tool_calls":[{)" + id +
                     R"("index":0,"type":"function","function":{"name":"look","arguments":)" + arguments + "}}]}");
    };
    for (const bool has_ids : {true, false}) {
        CAPTURE(has_ids);
        const Read all = readWire(delta(R"({"role":"assistant","content":"","reasoning":"hm"})") +
                                  call(has_ids ? R"("id":"call_a",)" : "", R"("{\"x\":1}")") +
                                  call(has_ids ? R"("id":"call_b",)" : "", R"({"x":2})") +
                                  delta(R"({"role":"assistant","content":""})", "\"tool_calls\"") + done);
        REQUIRE(all.reply.message.calls.size() == 2);
        CHECK(all.reply.message.calls[0].arguments == R"({"x":1})");
        CHECK(all.reply.message.calls[1].arguments == R"({"x":2})");
        CHECK(all.reply.message.calls[1].provider_id == (has_ids ? "call_b" : ""));
        CHECK(std::get<md::Reasoning>(all.reply.message.content.at(0)).text == "hm");
    }
}

TEST_CASE("Ollama's errors are errors with its words: before an answer, and as a bare line inside it") {
    const md::ModelError unknown = http::refusal(
        {"http://x", ""}, {.status = 404},
        R"({"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error","param":null,"code":null}})",
        {});
    CHECK(has(unknown, "try pulling it first (api_error)"));
    CHECK(!unknown.isRetryable());
    const md::ModelError native = http::refusal({"http://x", ""}, {.status = 500}, R"({"error":"no memory"})", {});
    CHECK(has(native, ": no memory"));
    const md::ModelError inside = errorOf(delta(R"({"content":"x"})") + R"({"error":{"message":"it crashed"}})" + "\n");
    CHECK(has(inside, "it crashed"));
    CHECK(inside.isRetryable());
    CHECK(has(errorOf(delta(R"({"content":"x"})") + "{\"error\":\"it crashed\"}\n"), "it crashed"));
}

TEST_CASE("vLLM's thoughts under both names, calls with ids once, and a named call that ends with stop are read") {
    const Read all = readWire(
        delta(R"({"role":"assistant","content":""})") + delta(R"({"reasoning":"h","reasoning_content":null})") +
        delta(R"({"reasoning_content":"m"})") +
        delta(R"({"tool_calls":[{"id":"chatcmpl-tool-1","type":"function","index":0,"function":{"name":"look"}}]})") +
        delta(R"({"tool_calls":[{"id":null,"index":0,"function":{"arguments":"{\"x\""}}]})") +
        delta(R"({"tool_calls":[{"index":0,"function":{"name":null,"arguments":": 1}"}}]})") +
        delta(R"({"content":null,"tool_calls":[]})", R"("stop","stop_reason":null)") + done);
    CHECK(std::get<md::Reasoning>(all.reply.message.content.at(0)).text == "hm");
    REQUIRE(all.reply.message.calls.size() == 1);
    CHECK(all.reply.message.calls[0].arguments == R"({"x": 1})");
    CHECK((all.reply.message.finish_reason == md::FinishReason::tool_calls));
}

TEST_CASE("vLLM's errors inside an answer are errors, and what is wrong with a request is not sent again") {
    const md::ModelError wrong = errorOf(
        R"(data: {"error": {"message": "max_tokens must be at least 1", "type": "BadRequestError", "param": null, "code": 400}})"
        "\n\n" +
        done);
    CHECK(wrong.status() == 400);
    CHECK(!wrong.isRetryable());
    const md::ModelError older = errorOf(
        R"(data: {"object":"error","message":"engine died","type":"InternalServerError","param":null,"code":500})"
        "\n\n");
    CHECK(older.isRetryable());
    CHECK(has(older, "engine died"));
}

TEST_CASE("an answer of thoughts alone, or without a reason, ends as its server says") {
    const Read thought = readWire(delta(R"({"reasoning_content":"hm","content":""})") + delta("{}", "\"stop\"") + done);
    CHECK((thought.reply.message.finish_reason == md::FinishReason::stop));
    CHECK(thought.reply.message.text().empty());
    CHECK((readWire(delta(R"({"content":"x"})") + done).reply.message.finish_reason == md::FinishReason::stop));
    CHECK(errorOf(delta(R"({"content":"x"})")).isRetryable());
    CHECK(errorOf(delta(R"({"reasoning_content":"hm"})") + done).isRetryable());
}
