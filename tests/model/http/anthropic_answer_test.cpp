#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/model/anthropic.hpp>

#include "model/http/anthropic_answer.hpp"
#include "tests/model/http/read_answer.hpp"
#include "tests/support/scripted_server.hpp"

namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
using Strings = std::vector<std::string>;

using answers::Read;
Read read(const Strings& events) { return answers::readAs<md::http::AnthropicAnswer>(events); }

std::string start(int index, const std::string& block) {
    return R"({"type":"content_block_start","index":)" + std::to_string(index) + R"(,"content_block":)" + block + "}";
}
std::string delta(int index, const std::string& json) {
    return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" + json + "}";
}
std::string input(int index, const std::string& piece) {
    return delta(index, R"({"type":"input_json_delta","partial_json":")" + piece + "\"}");
}
std::string end(int index) { return R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}"; }
std::string stop(const std::string& reason) {
    return R"({"type":"message_delta","delta":{"stop_reason":")" + reason +
           R"(","stop_sequence":null},"usage":{"output_tokens":15}})";
}
const std::string begin =
    R"({"type":"message_start","message":{"id":"msg_1","model":"claude","content":[],"stop_reason":null,
    "usage":{"input_tokens":25,"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}}})";
const std::string over = R"({"type":"message_stop"})";
const std::string ping = R"({"type":"ping"})";

md::ModelError errorOf(const Strings& events) { return answers::errorOf(read, events); }

}  // namespace

TEST_CASE("a streamed message of thoughts, text and calls is put together from its blocks") {
    const Strings events = {begin,
                            ping,
                            start(0, R"({"type":"thinking","thinking":"","signature":""})"),
                            delta(0, R"({"type":"thinking_delta","thinking":"h"})"),
                            delta(0, R"({"type":"thinking_delta","thinking":"m"})"),
                            delta(0, R"({"type":"signature_delta","signature":"c2ln"})"),
                            end(0),
                            start(1, R"({"type":"redacted_thinking","data":"ZGF0YQ=="})"),
                            end(1),
                            start(2, R"({"type":"text","text":""})"),
                            delta(2, R"({"type":"text_delta","text":"I "})"),
                            delta(2, R"({"type":"text_delta","text":"look"})"),
                            delta(2, R"({"type":"citations_delta","citation":{}})"),
                            end(2),
                            start(3, R"({"type":"tool_use","id":"toolu_1","name":"look","input":{}})"),
                            input(3, ""),
                            input(3, R"({\"x\")"),
                            input(3, ":1}"),
                            end(3),
                            start(4, R"({"type":"tool_use","id":"toolu_2","name":"wait","input":{}})"),
                            end(4),
                            start(5, R"({"type":"tool_use","id":"toolu_3","name":"whole","input":{"y":2}})"),
                            end(5),
                            start(6, R"({"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}})"),
                            input(6, "{}"),
                            end(6),
                            R"({"type":"from_the_future"})",
                            stop("tool_use"),
                            over};
    const Read all = read(events);
    CHECK(all.told == Strings{"reasoning h", "reasoning m", "text I ", "text look", "call 0 look#toolu_1",
                              R"(arguments 0 {"x")", "arguments 0 :1}", "call 1 wait#toolu_2", "call 2 whole#toolu_3",
                              R"(arguments 2 {"y":2})", "provider web_search"});
    const md::Message& message = all.reply.message;
    REQUIRE(message.content.size() == 4);
    CHECK((message.content[0] == md::Part(md::Reasoning{"hm", "c2ln"})));
    CHECK((message.content[1] == md::Part(md::Reasoning{"", "redacted:ZGF0YQ=="})));
    CHECK(message.text() == "I look");
    REQUIRE(message.calls.size() == 3);
    CHECK((message.calls[0] == md::ToolCall{"", "toolu_1", "look", R"({"x":1})"}));
    CHECK((message.calls[1] == md::ToolCall{"", "toolu_2", "wait", "{}"}));
    CHECK((message.calls[2] == md::ToolCall{"", "toolu_3", "whole", R"({"y":2})"}));
    CHECK((message.finish_reason == md::FinishReason::tool_calls));
    CHECK((message.usage == md::Usage{30, 15, 0, 2, 3}));
    CHECK(all.reply.response_id == "msg_1");
    CHECK(all.reply.model == "claude");
}

TEST_CASE("blocks of the provider's own tools are parts of the answer, also those that make no sense") {
    const auto partsOf = [](const Strings& events) {
        Strings all = {begin};
        all.insert(all.end(), events.begin(), events.end());
        all.push_back(stop("end_turn"));
        std::vector<md::ProviderPart> parts;
        for (const md::Part& part : read(all).reply.message.content) {
            REQUIRE(std::holds_alternative<md::ProviderPart>(part));
            parts.push_back(std::get<md::ProviderPart>(part));
        }
        return parts;
    };
    using Kind = md::ProviderPartKind;
    const std::string call = R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}})";
    const std::string whole = R"({"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}})";
    CHECK((partsOf({start(0, call), input(0, R"({\"q\")"), input(0, ":1}"), end(0)}) ==
           std::vector<md::ProviderPart>{{Kind::call, "anthropic", "s", "web_search", whole}}));
    // An input that is not an object leaves the value with which the block began.
    CHECK(partsOf({start(0, whole), input(0, "[7"), end(0)}).at(0).data == whole);
    // If a block has no end, it is not known whether it is complete.
    CHECK(partsOf({start(0, call), input(0, "{")}).empty());
    CHECK(partsOf({start(0, call), start(0, whole), end(0), end(0)}).size() == 1);
    CHECK(partsOf({end(3), input(3, "{}"), start(1, "7"), start(2, R"({"type":null})"), end(2)}).empty());
    const std::string error =
        R"({"type":"bash_code_execution_tool_result","tool_use_id":7,"content":{"error_code":"x"}})";
    CHECK((partsOf({start(0, error), end(0)}) ==
           std::vector<md::ProviderPart>{{Kind::result, "anthropic", "", "bash_code_execution", error}}));
    CHECK(partsOf({start(0, R"({"type":"mcp_tool_use","id":"m","name":"n"})"), end(0)}).at(0).name == "n");
    CHECK(partsOf({delta(0, R"({"type":"citations_delta","citation":{"url":"u"}})"),
                   delta(0, R"({"type":"citations_delta","citation":7})"), delta(0, R"({"type":"citations_delta"})")})
              .size() == 1);
}

TEST_CASE("Anthropic's reasons of stopping are ours, and calls decide unless the answer was cut off") {
    const auto reason = [](const char* said) { return *read({begin, stop(said), over}).reply.message.finish_reason; };
    CHECK((reason("end_turn") == md::FinishReason::stop));
    CHECK((reason("stop_sequence") == md::FinishReason::stop));
    CHECK((reason("max_tokens") == md::FinishReason::length));
    CHECK((reason("model_context_window_exceeded") == md::FinishReason::length));
    CHECK((reason("refusal") == md::FinishReason::content_filter));
    CHECK((reason("pause_turn") == md::FinishReason::paused));
    CHECK((reason("new") == md::FinishReason::other));
    const std::string call = start(0, R"({"type":"tool_use","id":"a","name":"f","input":{}})");
    CHECK((*read({begin, call, stop("end_turn")}).reply.message.finish_reason == md::FinishReason::tool_calls));
    const md::Message cut = read({begin, call, input(0, R"({\"x)"), stop("max_tokens"), over}).reply.message;
    CHECK((cut.finish_reason == md::FinishReason::length));
    CHECK(cut.calls.at(0).arguments == "{\"x");
}

TEST_CASE("a message that ends without its reason, and errors among the events, are errors") {
    for (const Strings& events :
         {Strings{}, Strings{begin}, Strings{begin, start(0, R"({"type":"text","text":"a"})"), over}}) {
        CHECK(errorOf(events).isRetryable());
    }
    const md::ModelError busy =
        errorOf({begin, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded key"}})"});
    CHECK(busy.isRetryable());
    CHECK(std::string(busy.what()).find("Overloaded *** (overloaded_error)") != std::string::npos);
    CHECK(!errorOf({R"({"type":"error","error":{"type":"invalid_request_error","message":"no"}})"}).isRetryable());
    CHECK(errorOf({"garbage"}).isRetryable());
}

TEST_CASE("a message whose beginning is repeated is one message, and another message before its end is an error") {
    const std::string text = start(0, R"({"type":"text","text":"one"})");
    const std::string again =
        R"({"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":0,"output_tokens":0}}})";
    const Read read_once = read({begin, text, again, end(0), stop("end_turn"), over});
    CHECK(read_once.reply.message.text() == "one");
    CHECK(read_once.reply.message.usage->input_tokens == 30);
    CHECK(read_once.reply.model == "claude");

    const std::string other = R"({"type":"message_start","message":{"id":"msg_2"}})";
    const std::string call = start(1, R"({"type":"tool_use","id":"toolu_2","name":"remove","input":{"a":1}})");
    for (const Strings& events : {Strings{begin, other, text, end(0), stop("end_turn"), over},
                                  Strings{begin, text, other, call, end(1), stop("tool_use"), over},
                                  Strings{begin, text, end(0), stop("end_turn"), other, call, end(1), over}}) {
        const md::ModelError error = errorOf(events);
        CHECK(error.isRetryable());
        CHECK(std::string(error.what()).find("began another message") != std::string::npos);
    }
}

TEST_CASE("a message that has blocks and a reason of stopping at its beginning is whole") {
    const std::string whole = R"({"type":"message_start","message":{"id":"msg_1","stop_reason":"tool_use","content":[
        {"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"look","input":{"at":1}},7,
        {"type":"tool_use","id":"t2","name":"look","input":{}}]}})";
    const Strings told{"text I look.", "call 0 look#t1", R"(arguments 0 {"at":1})", "call 1 look#t2"};
    for (const Strings& events : {Strings{whole, over}, Strings{whole, whole, stop("tool_use"), over}}) {
        const Read out = read(events);
        CHECK(out.told == told);
        CHECK(out.reply.message.text() == "I look.");
        REQUIRE(out.reply.message.calls.size() == 2);
        CHECK(out.reply.message.calls[0].arguments == R"({"at":1})");
        CHECK(out.reply.message.calls[1].arguments == "{}");
        CHECK((out.reply.message.finish_reason == md::FinishReason::tool_calls));
    }
    // Blocks that are streamed after these are others, although their numbers are the same.
    const Read more = read({whole, start(1, R"({"type":"tool_use","id":"t3","name":"dig","input":{}})"), input(1, "{}"),
                            end(1), stop("tool_use"), over});
    REQUIRE(more.reply.message.calls.size() == 3);
    CHECK(more.reply.message.calls[2].name == "dig");
}

TEST_CASE("a message is streamed from a server, however its bytes are split") {
    std::string body;
    for (const std::string& event : {begin, ping, start(0, R"({"type":"text","text":""})"),
                                     delta(0, R"({"type":"text_delta","text":"a"})"), end(0), stop("end_turn"), over}) {
        std::string line;
        for (const char c : event) line += c == '\n' ? ' ' : c;
        body += "event: x\ndata: " + line + "\n\n";
    }
    for (const std::size_t size : {1, 3, 1000}) {
        const ScriptedServer server([&](ScriptedServer::Peer& peer) {
            peer.request();
            peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
            for (std::size_t at = 0; at < body.size(); at += size) peer.send(std::string_view(body).substr(at, size));
        });
        const auto model = md::anthropic({.base_url = server.url(), .api_key = "sk", .model = "m"});
        const std::vector<md::Message> messages = {md::user("hi")};
        const md::Asking asking;
        CHECK(sg::syncWait(model->ask({.messages = messages}, asking)).message.text() == "a");
        const std::string request = server.requests().at(0);
        CHECK(request.starts_with("POST /v1/messages HTTP/1.1\r\n"));
        CHECK(request.find("\r\nx-api-key: sk\r\n") != std::string::npos);
        CHECK(request.find("\r\nanthropic-version: 2023-06-01\r\n") != std::string::npos);
    }
}
