#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/http/openai_answer.hpp"
#include "tests/model/http/read_answer.hpp"

namespace {

namespace md = stategraph::model;
using md::http::OpenAiAnswer;
using Strings = std::vector<std::string>;

using answers::has;
using answers::Read;
Read read(const Strings& events) { return answers::readAs<OpenAiAnswer>(events); }

std::string delta(const std::string& json) {
    return R"({"id":"r","model":"gpt","choices":[{"index":0,"delta":)" + json + "}]}";
}
std::string calls(const std::string& json) { return delta(R"({"tool_calls":[)" + json + "]}"); }
std::string end(const std::string& reason) {
    return R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + reason + "\"}]}";
}

/// Returns "NAME#ID ARGUMENTS" of each call.
Strings callsOf(const Strings& events) {
    Strings all = events;
    all.push_back(end("tool_calls"));
    Strings out;
    for (const md::ToolCall& call : read(all).reply.message.calls)
        out.push_back(call.name + "#" + call.provider_id + " " + call.arguments);
    return out;
}

md::ModelError errorOf(const Strings& events) { return answers::errorOf(read, events); }

}  // namespace

TEST_CASE("text and reasoning are reported as they come, and are whole at the end, with what they cost") {
    const Read all = read(
        {delta(R"({"role":"assistant","content":""})"), delta(R"({"reasoning_content":"hm"})"),
         delta(R"({"reasoning":"m"})"), delta(R"({"content":"Hel"})"), delta(R"({"content":"lo","unknown":[{}]})"),
         end("stop"),
         R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4,
                               "cache_write_tokens":3},
                               "completion_tokens_details":{"reasoning_tokens":2}}})",
         "[DONE]"});
    CHECK(all.told == Strings{"reasoning hm", "reasoning m", "text Hel", "text lo"});
    CHECK(all.reply.message.text() == "Hello");
    CHECK(std::get<md::Reasoning>(all.reply.message.content.at(0)).text == "hmm");
    CHECK(all.reply.message.content.size() == 2);
    CHECK((all.reply.message.role == md::Role::assistant));
    CHECK((all.reply.message.finish_reason == md::FinishReason::stop));
    CHECK((all.reply.message.usage == md::Usage{9, 5, 2, 4, 3}));
    CHECK(all.reply.response_id == "r");
    CHECK(all.reply.model == "gpt");
}

TEST_CASE("content may be a list of texts and thoughts, and of parts that are not known") {
    const Read all = read(
        {delta(R"({"content":[{"type":"thinking","thinking":[{"type":"text","text":"Let me think."},7]}]})"),
         delta(R"({"content":[{"type":"thinking","thinking":" More."},{"type":"text","text":"It is 391."}]})"),
         delta(
             R"({"content":[{"type":"future","text":{"a":1},"thinking":{"b":2}},null,{"type":"text","text":" Yes."}]})"),
         end("stop")});
    CHECK(all.told == Strings{"reasoning Let me think.", "reasoning  More.", "text It is 391.", "text  Yes."});
    CHECK(all.reply.message.text() == "It is 391. Yes.");
    CHECK(std::get<md::Reasoning>(all.reply.message.content.at(0)).text == "Let me think. More.");
    CHECK(all.reply.message.content.size() == 2);
}

TEST_CASE("pieces of calls are put together by their index, also where those of several calls are mixed") {
    const Strings events = {
        calls(R"({"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}})"),
        calls(R"({"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}})"),
        calls(R"({"index":0,"function":{"arguments":"{\"x\""}},{"index":1,"function":{"arguments":":2}"}})"),
        calls(R"({"index":0,"function":{"arguments":":1}"}})")};
    CHECK(callsOf(events) == Strings{R"(f#a {"x":1})", R"(g#b {"y":2})"});
    Strings whole = events;
    whole.push_back(end("stop"));
    const Read all = read(whole);
    CHECK(all.told == Strings{"call 0 f#a", "call 1 g#b", R"(arguments 1 {"y")", R"(arguments 0 {"x")",
                              "arguments 1 :2}", "arguments 0 :1}"});
    CHECK((all.reply.message.finish_reason == md::FinishReason::tool_calls));
    for (const md::ToolCall& call : all.reply.message.calls) CHECK(call.id.empty());
}

TEST_CASE("a call whose name comes after its first piece is reported with its name, and then its arguments so far") {
    const Read all = read({calls(R"({"index":0,"id":"a","function":{"arguments":""}})"),
                           calls(R"({"index":0,"function":{"arguments":"{\"x\""}})"),
                           calls(R"({"index":0,"function":{"name":"f","arguments":":1"}})"),
                           calls(R"({"index":0,"function":{"name":"f","arguments":"}"}})"),
                           calls(R"({"index":1,"id":"b","function":{"name":""}})"),
                           calls(R"({"index":1,"function":{"name":"g"}})"), end("tool_calls")});
    CHECK(all.told == Strings{"call 0 f#a", R"(arguments 0 {"x")", "arguments 0 :1", "arguments 0 }", "call 1 g#b"});
    REQUIRE(all.reply.message.calls.size() == 2);
    CHECK(all.reply.message.calls[0].arguments == R"({"x":1})");
}

TEST_CASE("a new id on a used index is a new call, and the index then means that one") {
    CHECK(callsOf({calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})"),
                   calls(R"({"index":0,"id":"b","function":{"name":"f","arguments":"{\"n\""}})"),
                   calls(R"({"index":0,"function":{"arguments":":1}"}})")}) == Strings{"f#a {}", R"(f#b {"n":1})"});
    // The same id again, and an empty one, continue the call.
    CHECK(callsOf({calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\""}})"),
                   calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":":1"}})"),
                   calls(R"({"index":0,"id":"","function":{"name":null,"arguments":"}"}})")}) ==
          Strings{R"(f#a {"n":1})"});
}

TEST_CASE("a missing index continues the open call; an id, or a name after whole arguments, begins another") {
    CHECK(callsOf({calls(R"({"id":"a","function":{"name":"f","arguments":"{\"n\""}})"),
                   calls(R"({"function":{"arguments":":1}"}})")}) == Strings{R"(f#a {"n":1})"});
    CHECK(
        callsOf({calls(
            R"({"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{}"}})")}) ==
        Strings{"f#a {}", "f#b {}"});
    CHECK(callsOf({calls(
              R"({"function":{"name":"f","arguments":{"n":1}}},{"function":{"name":"f","arguments":{"n":2}}})")}) ==
          Strings{R"(f# {"n":1})", R"(f# {"n":2})"});
    CHECK(callsOf({calls(R"({"function":{"name":"f","arguments":"{\"n\""}})"),
                   calls(R"({"function":{"name":"f","arguments":":1}"}})"),
                   calls(R"({"function":{"name":"f","arguments":""}})")}) == Strings{R"(f# {"n":1})"});
    CHECK(callsOf({calls(R"({"index":0,"function":{"name":"f","arguments":"{}"}})"),
                   calls(R"({"index":0,"function":{"name":"g","arguments":"{}"}})")}) == Strings{"f# {}", "g# {}"});
}

TEST_CASE("empty, missing and null arguments are an empty object") {
    CHECK(callsOf({calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":""}})")}) == Strings{"f#a {}"});
    CHECK(callsOf({calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":null}})")}) == Strings{"f#a {}"});
    CHECK(callsOf({calls(R"({"index":0,"id":"a","function":{"name":"f"}})")}) == Strings{"f#a {}"});
}

TEST_CASE("the calls decide and not the finish reason, unless the answer was cut off") {
    const std::string call = calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"n"}})");
    const auto reason = [](const Strings& events) { return *read(events).reply.message.finish_reason; };
    CHECK((reason({call, end("stop")}) == md::FinishReason::tool_calls));
    CHECK((reason({call, end("whatever")}) == md::FinishReason::tool_calls));
    CHECK((reason({call, end("length")}) == md::FinishReason::length));
    CHECK((reason({call, end("content_filter")}) == md::FinishReason::content_filter));
    CHECK(read({call, end("length")}).reply.message.calls.at(0).arguments == "{\"n");
    CHECK((reason({end("tool_calls")}) == md::FinishReason::stop));
    CHECK((reason({end("function_call")}) == md::FinishReason::stop));
    CHECK((reason({end("whatever")}) == md::FinishReason::other));
    CHECK((reason({delta(R"({"refusal":"I will not"})"), end("stop")}) == md::FinishReason::content_filter));
}

TEST_CASE("chunks without choices, of other choices, and of other shapes are passed over") {
    const Read all =
        read({R"({})", R"({"choices":null,"prompt_filter_results":[]})", R"({"choices":[]})", R"({"choices":[{}]})",
              R"({"choices":[5]})", R"({"choices":[{"index":1,"delta":{"content":"other"},"finish_reason":"stop"}]})",
              R"({"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"x"}]}}]})",
              R"({"error":null,"choices":[]})", R"({"usage":{"prompt_tokens":1,"completion_tokens":1}})", end("stop")});
    CHECK(all.reply.message.text() == "a");
    CHECK(all.reply.message.usage->input_tokens == 1);
}

TEST_CASE("a stream without a finish reason is an error that may pass, and never a shorter answer") {
    for (const Strings& events :
         {Strings{}, Strings{"[DONE]"}, Strings{delta(R"({"content":"a"})")},
          Strings{delta(R"({"reasoning_content":"a"})"), "[DONE]"},
          Strings{calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":"}})"), "[DONE]"},
          Strings{calls(R"({"index":0,"id":"a","function":{"arguments":"{}"}})"), "[DONE]"}}) {
        const md::ModelError error = errorOf(events);
        CHECK(error.isRetryable());
        CHECK(has(error, "http://x"));
    }
    CHECK(has(errorOf({calls(R"({"index":0,"id":"a","function":{"arguments":"{}"}})"), end("tool_calls")}),
              "without its name"));
}

TEST_CASE("an answer that ends with [DONE] and without a finish reason is judged by what came") {
    const Read text = read({delta(R"({"content":"a"})"), "[DONE]"});
    CHECK(text.reply.message.text() == "a");
    CHECK((text.reply.message.finish_reason == md::FinishReason::stop));
    for (const char* arguments : {"", "{}", R"({\"a\":{}})"}) {
        CAPTURE(arguments);
        const Read called = read(
            {calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":")" + std::string(arguments) + R"("}})"),
             "[DONE]"});
        REQUIRE(called.reply.message.calls.size() == 1);
        CHECK((called.reply.message.finish_reason == md::FinishReason::tool_calls));
    }
}

TEST_CASE("errors inside the stream are errors, with the provider's words, and whether they may pass") {
    const md::ModelError busy = errorOf(
        {delta(R"({"content":"a"})"), R"({"error":{"message":"Overloaded, key","type":"server_error","code":503}})"});
    CHECK(busy.isRetryable());
    CHECK(busy.status() == 503);
    CHECK(has(busy, "Overloaded, *** (server_error)"));
    CHECK(!errorOf({R"({"error":{"message":"too long","type":"invalid_request_error"}})"}).isRetryable());
    CHECK(!errorOf({R"({"error":{"message":"pay","code":"insufficient_quota"}})"}).isRetryable());
    CHECK(!errorOf({R"({"error":{"message":"no","code":401}})"}).isRetryable());
    CHECK(has(errorOf({R"({"error":"just text"})"}), "just text"));
    CHECK(has(errorOf({R"({"object":"error","message":"vllm says no"})"}), "vllm says no"));
    CHECK(errorOf({R"({"choices":[{"index":0,"delta":{},"finish_reason":"error"}]})"}).isRetryable());
    CHECK(has(errorOf({"{broken"}), "{broken"));
    CHECK(errorOf({"[1]"}).isRetryable());
}
