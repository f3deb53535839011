#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include "model/http/responses_answer.hpp"
#include "tests/model/http/read_answer.hpp"

// The events of the Responses API are read into a message.
namespace {

namespace md = stategraph::model;
namespace json = boost::json;
using Kind = md::ProviderPartKind;
using Strings = std::vector<std::string>;

using answers::has;
using answers::Read;
Read read(const Strings& events) {
    return answers::readAs<md::http::ResponsesAnswer>(events, md::http::ItemOrigin{"host", "gpt"});
}

std::string event(const std::string& type, const std::string& members) {
    return R"({"type":"response.)" + type + "\"," + members + "}";
}
std::string added(int index, const std::string& item) {
    return event("output_item.added", R"("output_index":)" + std::to_string(index) + ",\"item\":" + item);
}
std::string done(int index, const std::string& item) {
    return event("output_item.done", R"("output_index":)" + std::to_string(index) + ",\"item\":" + item);
}
std::string delta(const std::string& type, int index, const std::string& text) {
    return event(type + ".delta", R"("output_index":)" + std::to_string(index) + R"(,"delta":")" + text + "\"");
}
const std::string created = event("created", R"("response":{"id":"resp_1","model":"gpt-5.1"})");
const std::string completed = event(
    "completed", R"("response":{"usage":{"input_tokens":9,"output_tokens":5,"input_tokens_details":{"cached_tokens":4,
                                "cache_write_tokens":3},
                                "output_tokens_details":{"reasoning_tokens":2}}})");

md::ModelError errorOf(const Strings& events) { return answers::errorOf(read, events); }

}  // namespace

TEST_CASE("thoughts, text and calls are reported as they come, and are whole at the end, with what they cost") {
    const std::string thought = R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],
                                    "encrypted_content":"x"})";
    const std::string call = R"({"type":"function_call","id":"fc_1","call_id":"call_1","name":"look",)";
    const Read all = read(
        {created, event("in_progress", R"("response":{})"), added(0, R"({"type":"reasoning","id":"rs_1"})"),
         event("reasoning_summary_part.added", R"("output_index":0)"), delta("reasoning_summary_text", 0, "h"),
         delta("reasoning_summary_text", 0, "m"), event("reasoning_summary_part.added", R"("output_index":0)"),
         delta("reasoning_summary_text", 0, "so"), done(0, thought), added(1, R"({"type":"message","id":"msg_1"})"),
         delta("output_text", 1, "Hel"), delta("output_text", 1, "lo"),
         done(1, R"({"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Hello"}]})"),
         added(2, call + R"("arguments":""})"), delta("function_call_arguments", 2, "{}"),
         done(2, call + R"("arguments":"{}"})"), completed, delta("output_text", 1, "late"), "[DONE]"});
    CHECK(all.told == Strings{"reasoning h", "reasoning m", "reasoning \n\n", "reasoning so", "text Hel", "text lo",
                              "call 0 look#call_1", "arguments 0 {}"});
    const md::Message& message = all.reply.message;
    CHECK(message.text() == "Hello");
    CHECK((message.content.at(0) == md::Part(md::Reasoning{"hm\n\nso", ""})));
    CHECK((message.calls == std::vector<md::ToolCall>{{"", "call_1", "look", "{}"}}));
    CHECK(message.finish_reason == md::FinishReason::tool_calls);
    CHECK(message.usage == md::Usage{9, 5, 2, 4, 3});
    CHECK(all.reply.response_id == "resp_1");
    CHECK(all.reply.model == "gpt-5.1");
    const auto& kept = std::get<md::ProviderPart>(message.content.at(2));
    CHECK((kept.kind == Kind::metadata));
    CHECK(json::parse(kept.data) == json::parse(R"({"model":"gpt","items":[)" + thought + R"(,
        {"type":"message","id":"msg_1","text_size":5},{"type":"function_call","id":"fc_1","call_id":"call_1"}]})"));
}

TEST_CASE("an answer without thoughts has nothing but itself, unless its message says what it is for") {
    const auto message = [](const std::string& members) {
        return done(0,
                    R"({"type":"message","id":"m")" + members + R"(,"content":[{"type":"output_text","text":"a"}]})");
    };
    CHECK((read({message(""), completed}).reply.message.content == std::vector<md::Part>{md::Text{"a"}}));
    CHECK(read({message(R"(,"phase":"commentary")"), completed}).reply.message.content.size() == 2);
}

TEST_CASE("what was not streamed is read from the items that are done, or from the whole answer, each once") {
    const std::string items = R"([{"type":"reasoning","id":"r","summary":[],"content":[{"text":"hm"}]},
        {"type":"message","id":"m","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]},
        {"type":"function_call","call_id":"c","name":"look","arguments":"{\"x\":1}"}, 7])";
    const std::string end = event("completed", R"("response":{"id":"r","model":"m","output":)" + items + "}");
    const json::array parsed = json::parse(items).as_array();
    const std::string first = done(0, json::serialize(parsed[0]));
    for (const Strings& events : {Strings{end}, Strings{first, end}, Strings{first, first, end}}) {
        const md::Message message = read(events).reply.message;
        CHECK((message.content.at(0) == md::Part(md::Reasoning{"hm", ""})));
        CHECK(message.text() == "ano");
        REQUIRE(message.calls.size() == 1);
        CHECK(message.calls[0].arguments == R"({"x":1})");
        CHECK(message.finish_reason == md::FinishReason::content_filter);
        CHECK(message.content.size() == 3);
    }
}

TEST_CASE("tools of the provider and sources are parts of the answer, and items of unknown kinds are kept") {
    const std::string search = R"({"type":"web_search_call","id":"ws_1","status":"completed",
        "action":{"type":"search","query":"tea"},"results":[1]})";
    const std::string note = R"({"type":"url_citation","url":"https://a","title":"A"})";
    const Read all = read({added(0, R"({"type":"web_search_call","id":"ws_1"})"), done(0, search),
                           done(1, R"({"type":"message","id":"m","content":[{"type":"output_text","text":"Tea",
                                       "annotations":[)" +
                                       note + "]}]}"),
                           done(2, R"({"type":"compaction","encrypted_content":"x"})"), completed});
    CHECK(all.told == Strings{"provider web_search", "provider web_search", "text Tea", "provider "});
    const auto part = [&](std::size_t at) { return std::get<md::ProviderPart>(all.reply.message.content.at(at)); };
    CHECK((part(0).kind == Kind::call));
    CHECK(json::parse(part(0).data).as_object().contains("action"));
    CHECK_FALSE(json::parse(part(0).data).as_object().contains("results"));
    CHECK((part(1).kind == Kind::result));
    CHECK(json::parse(part(1).data) == json::parse(search));
    CHECK((part(3).kind == Kind::source));
    CHECK(json::parse(part(3).data) == json::parse(note));
    CHECK(json::parse(part(4).data).at("items") == json::parse(R"([{"type":"web_search_call","id":"ws_1"},
        {"type":"message","id":"m","text_size":3},{"type":"compaction","encrypted_content":"x"}])"));
}

TEST_CASE("an answer that was cut off says so, and keeps what was complete") {
    const auto cut = [](const std::string& reason) {
        return read({done(0, R"({"type":"reasoning","id":"r","encrypted_content":"x"})"), delta("output_text", 1, "a"),
                     event("incomplete", R"("response":{"incomplete_details":{"reason":")" + reason + "\"}}")})
            .reply.message;
    };
    CHECK(cut("max_output_tokens").finish_reason == md::FinishReason::length);
    CHECK(cut("content_filter").finish_reason == md::FinishReason::content_filter);
    CHECK(cut("max_output_tokens").text() == "a");
    const Strings ends = {delta("output_text", 0, "a"), event("completed", R"("response":{"status":"incomplete"})")};
    CHECK(read(ends).reply.message.finish_reason == md::FinishReason::length);
}

TEST_CASE("errors, and answers that break off, are errors that say whether another attempt may succeed") {
    CHECK(errorOf({created, delta("output_text", 0, "a")}).isRetryable());
    CHECK(errorOf({"7"}).isRetryable());
    const auto failed = [](const std::string& code) {
        return errorOf({event("failed", R"("response":{"error":{"code":")" + code + R"(","message":"it broke"}})")});
    };
    CHECK(has(failed("server_error"), "it broke"));
    CHECK(failed("server_error").isRetryable());
    CHECK_FALSE(failed("invalid_prompt").isRetryable());
    CHECK(errorOf({event("failed", R"("response":{"error":null})")}).isRetryable());
    CHECK(has(errorOf({event("completed", R"("response":{"status":"failed"})")}), "ended its answer with an error"));
    CHECK(has(errorOf({R"({"type":"error","code":"rate_limit_exceeded","message":"slow down"})"}), "slow down"));
    CHECK(has(errorOf({R"({"error":{"message":"bad"}})"}), "bad"));
    CHECK(has(errorOf({done(0, R"({"type":"function_call","call_id":"c"})"), completed}), "without its name"));
}
