#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/agent/agent.hpp>
#include <stategraph/async.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/anthropic.hpp>
#include <stategraph/model/openai.hpp>

#include "model/http/anthropic_request.hpp"
#include "model/http/openai_request.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/scripted_server.hpp"

// Tools that the provider executes: they are declared, answered with, shown, and sent back.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace agent = stategraph::agent;
namespace json = boost::json;
using Strings = std::vector<std::string>;
using Kind = md::ProviderPartKind;

const char* const declaration = R"({"type":"web_search_20250305","name":"web_search","max_uses":5})";
const std::string call_block =
    R"({"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"tea"}})";
const std::string result_block =
    R"({"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[)"
    R"({"type":"web_search_result","url":"https://a","title":"A","encrypted_content":"Zm9v","page_age":null}]})";
const std::string citation =
    R"({"type":"web_search_result_location","url":"https://a","title":"A","encrypted_index":"YmFy","cited_text":"tea"})";

json::value anthropicBodyOf(const md::Request& request) {
    return json::parse(md::http::anthropicBody({.model = "m"}, request));
}
json::value openAiBodyOf(const md::Request& request) {
    return json::parse(md::http::openAiBody({.model = "m"}, request));
}

md::ProviderPart part(Kind kind, std::string data, std::string id = "srvtoolu_1", std::string format = "anthropic") {
    return {kind, std::move(format), std::move(id), "web_search", std::move(data)};
}
md::Message answer(std::vector<md::Part> content, md::FinishReason reason = md::FinishReason::stop) {
    md::Message message = md::assistant("");
    message.content = std::move(content);
    message.finish_reason = reason;
    return message;
}
json::value blocksOf(const std::vector<md::Message>& messages, std::size_t at) {
    return anthropicBodyOf({.messages = messages}).at("messages").at(at).at("content");
}

const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

/// Returns an answer with blocks, each of which is complete at its beginning, or is a text with its sources.
std::string streamed(const Strings& blocks, const std::string& reason) {
    const auto event = [](const std::string& data) { return "event: x\ndata: " + data + "\n\n"; };
    std::string out = event(R"({"type":"message_start","message":{"id":"msg","model":"claude"}})");
    int index = 0;
    for (const std::string& block : blocks) {
        const std::string at = "\"index\":" + std::to_string(index++);
        if (block.starts_with('{')) {
            out += event(R"({"type":"content_block_start",)" + at + R"(,"content_block":)" + block + "}");
        } else {
            out += event(R"({"type":"content_block_start",)" + at + R"(,"content_block":{"type":"text","text":""}})");
            out += event(R"({"type":"content_block_delta",)" + at +
                         R"(,"delta":{"type":"citations_delta","citation":)" + citation + "}}");
            out += event(R"({"type":"content_block_delta",)" + at + R"(,"delta":{"type":"text_delta","text":")" +
                         block + "\"}}");
        }
        out += event(R"({"type":"content_block_stop",)" + at + "}");
    }
    out += event(R"({"type":"message_delta","delta":{"stop_reason":")" + reason + "\"}}");
    return out + event(R"({"type":"message_stop"})");
}

json::value bodyIn(const std::string& request) { return json::parse(request.substr(request.find("\r\n\r\n") + 4)); }

}  // namespace

TEST_CASE("a declaration with a type is an element of the tools, unchanged, among the others") {
    const std::vector<md::ToolDescription> two = {{.name = "web_search", .provider = declaration}, {.name = "look"}};
    md::Request request{.tools = two};
    for (const json::value& tools : {anthropicBodyOf(request).at("tools"), openAiBodyOf(request).at("tools")}) {
        REQUIRE(tools.as_array().size() == 2);
        CHECK(tools.at(0) == json::parse(declaration));
    }
    const std::vector<md::ToolDescription> wrong = {{.name = "x", .provider = "[]"}};
    request.tools = wrong;
    CHECK_THROWS_AS(anthropicBodyOf(request), md::ModelError);
    CHECK_THROWS_AS(openAiBodyOf(request), md::ModelError);
}

TEST_CASE("a declaration without a type is members of the body, and replaces none") {
    const char* const options = R"({"web_search_options":{"search_context_size":"low"}})";
    std::vector<md::ToolDescription> tools = {{.name = "search", .provider = options}};
    md::Request request{.tools = tools, .tool_choice = md::ToolChoice::required};
    const json::value body = openAiBodyOf(request);
    CHECK(body.at("web_search_options") == json::parse(R"({"search_context_size":"low"})"));
    // Servers refuse a choice among no tools.
    CHECK(!body.as_object().contains("tools"));
    CHECK(!body.as_object().contains("tool_choice"));
    request.tool_choice = md::ToolChoice::none;
    CHECK(!openAiBodyOf(request).as_object().contains("web_search_options"));

    request.tool_choice = md::ToolChoice::automatic;
    for (const char* const member : {R"({"messages":[]})", R"({"model":"dearer"})", R"({"stream":false})"}) {
        tools[0].provider = member;
        CHECK_THROWS_WITH_AS(openAiBodyOf(request), doctest::Contains("has already"), md::ModelError);
        CHECK_THROWS_WITH_AS(anthropicBodyOf(request), doctest::Contains("has already"), md::ModelError);
    }
}

TEST_CASE("calls, results and sources go back to Anthropic as they came, in their places") {
    const std::vector<md::Message> messages = {
        md::user("?"),
        answer({md::Text{"I search."}, part(Kind::call, call_block), part(Kind::result, result_block), md::Text{"Tea."},
                part(Kind::source, citation, ""), part(Kind::source, R"({"type":"char_location"})", "")})};
    CHECK(blocksOf(messages, 1) ==
          json::parse(R"([{"type":"text","text":"I search."},)" + call_block + "," + result_block +
                      R"(,{"type":"text","text":"Tea.","citations":[)" + citation + "]}]"));
    const json::value openai = openAiBodyOf({.messages = messages}).at("messages").at(1);
    CHECK(openai == json::parse(R"({"role":"assistant","content":"I search.Tea."})"));
}

TEST_CASE("a call without its result and a result without its call are not sent, as providers refuse them") {
    const md::Part call = part(Kind::call, call_block);
    const md::Part result = part(Kind::result, result_block);
    const md::Text text{"x"};
    const json::value only_text = json::parse(R"([{"type":"text","text":"x"}])");
    const auto cut = answer({text, call}, md::FinishReason::length);
    CHECK(blocksOf({md::user("?"), cut, md::user("and?")}, 1) == only_text);
    CHECK(blocksOf({md::user("?"), answer({result, text})}, 1) == only_text);
    CHECK(blocksOf({md::user("?"), answer({text, result, call}), md::user("!")}, 1) == only_text);
    // A result after the user's message belongs to no call.
    CHECK(blocksOf({md::user("?"), cut, md::user("and?"), answer({result, text})}, 3) == only_text);
    // Twice, of one id.
    CHECK(blocksOf({md::user("?"), answer({call, call, result, result})}, 1).as_array().size() == 2);
    // Parts that are not JSON objects, and parts of another provider.
    CHECK(blocksOf({md::user("?"), answer({part(Kind::call, "nonsense"), part(Kind::result, "[]"), text})}, 1) ==
          only_text);
    const auto foreign =
        answer({part(Kind::call, call_block, "a", "openai"), part(Kind::result, result_block, "a", "openai"), text});
    CHECK(blocksOf({md::user("?"), foreign}, 1) == only_text);
    // A source without its text. A text that is left out takes its sources with it.
    CHECK(blocksOf({md::user("?"),
                    answer({part(Kind::source, citation), md::Text{" "}, part(Kind::source, citation), text})},
                   1) == only_text);
    // A call whose result comes in the next answer.
    const auto paused = answer({call}, md::FinishReason::paused);
    CHECK(blocksOf({md::user("?"), paused}, 1) == json::parse("[" + call_block + "]"));
    CHECK(blocksOf({md::user("?"), paused, answer({result})}, 1) ==
          json::parse("[" + call_block + "," + result_block + "]"));
}

TEST_CASE("a search of the provider's is shown, kept, sent back and not executed here, in every driver") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const ScriptedServer server([](ScriptedServer::Peer& peer) {
            if (peer.request().empty()) return;
            const Strings first = {"I search.", call_block};
            const Strings second = {result_block, "Tea is good."};
            peer.send(head + (peer.number == 0   ? streamed(first, "pause_turn")
                              : peer.number == 1 ? streamed(second, "end_turn")
                                                 : streamed({"Yes."}, "end_turn")));
        });
        sg::CompileOptions compile;
        compile.checkpointer = std::make_shared<sg::MemorySaver>();
        const agent::Agent helper({.model = md::anthropic({.base_url = server.url(), .model = "m"}),
                                   .tools = {agent::providerTool("web_search", declaration)},
                                   .approval = [](std::string_view, const sg::Value&) { return true; },
                                   .compile = std::move(compile)});
        const auto ran = driver.run(helper.graph(), agent::said("tea?"), {.thread_id = "t"});
        REQUIRE(ran.what() == "");
        const agent::State& state = ran.values;
        CHECK(state.stop_reason == "stop");
        CHECK(state.steps == 2);
        CHECK(state.text() == "Tea is good.");
        REQUIRE(state.messages.size() == 3);
        CHECK(state.messages[1].calls.empty());
        REQUIRE(state.messages[2].content.size() == 3);
        const auto& result = std::get<md::ProviderPart>(state.messages[2].content[0]);
        CHECK(result.call_id == "srvtoolu_1");
        CHECK(result.name == "web_search");
        CHECK(json::parse(result.data) == json::parse(result_block));
        CHECK((std::get<md::ProviderPart>(state.messages[2].content[2]).kind == Kind::source));

        driver.run(helper.graph(), agent::said("sure?"), {.thread_id = "t"});
        const json::value body = bodyIn(server.requests().at(2));
        CHECK(body.at("tools") == json::parse(std::string("[") + declaration + "]"));
        const json::array& blocks = body.at("messages").at(1).at("content").as_array();
        REQUIRE(blocks.size() == 4);  // both answers are one message
        CHECK(blocks[1] == json::parse(call_block));
        CHECK(blocks[2] == json::parse(result_block));
        CHECK(blocks[3].at("citations").at(0) == json::parse(citation));
    }
}

TEST_CASE("OpenAI's annotations are sources of the answer, each once") {
    const std::string note =
        R"({"type":"url_citation","url_citation":{"url":"https://a","title":"A","start_index":0,"end_index":3}})";
    const ScriptedServer server([&](ScriptedServer::Peer& peer) {
        if (peer.request().empty()) return;
        const auto chunk = [](const std::string& delta) {
            return R"(data: {"choices":[{"index":0,"delta":)" + delta + "}]}\n\n";
        };
        peer.send(head + chunk(R"({"content":"Tea","annotations":[)" + note + ",7,null]}") +
                  chunk(R"({"content":".","annotations":[)" + note + "]}") + chunk(R"({"annotations":{}})") +
                  "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    });
    std::vector<md::ProviderPart> told;
    md::Asking asking;
    asking.tell = [&](const md::Delta& delta) {
        if (delta.kind == md::Delta::Kind::provider) told.push_back(*delta.part);
    };
    const auto model = md::openai({.base_url = server.url(), .model = "m"});
    const std::vector<md::Message> messages = {md::user("tea?")};
    const std::vector<md::ToolDescription> tools = {{.name = "search", .provider = R"({"web_search_options":{}})"}};
    const md::Reply reply = sg::syncWait(model->ask({.messages = messages, .tools = tools}, asking));
    CHECK(reply.message.text() == "Tea.");
    REQUIRE(reply.message.content.size() == 2);
    CHECK((reply.message.content[1] == md::Part(md::ProviderPart{Kind::source, "openai", "", "", note})));
    CHECK(told.size() == 1);
    CHECK(bodyIn(server.requests().at(0)).as_object().contains("web_search_options"));
}
