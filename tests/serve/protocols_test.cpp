#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include <stategraph/json.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"

using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;

namespace {

agent::Agent gardener(const std::shared_ptr<Ledger>& ledger, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    agent::ToolOptions gated;
    gated.approval = true;
    model::Message first =
        model::assistant({call("c1", "dig"), call("c2", "burn", "gated"), call("c3", "fell", "gated")});
    first.content.emplace_back(model::Reasoning{"they want a garden", "signature"});
    first.content.emplace_back(model::Text{"I begin."});
    return agent::Agent({.model = model::scripted({first, model::assistant("All is done.")}),
                         .tools = {work(ledger), work(ledger, "gated", gated)},
                         .compile = stored(saver)});
}

std::string text(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::vector<std::string> kinds(const std::vector<json::object>& lines, std::string_view member) {
    std::vector<std::string> all;
    for (const json::object& line : lines) {
        std::string kind = text(line, member);
        if (all.empty() || all.back() != kind) all.push_back(std::move(kind));
    }
    return all;
}

struct Garden {
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
    std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>();
    serve::Server server;

    Garden() {
        serve::EndpointOptions options;
        options.protocols = {serve::ownEvents(), serve::stepEvents({.tools = {{"work", "gardening"}}}),
                             serve::uiMessages()};
        server.add("garden", serve::endpoint(gardener(ledger, saver), options));
    }
};

using Kinds = std::vector<std::string>;

}  // namespace

TEST_CASE("the steps protocol reports texts, calls of chosen tools and questions, and nothing else") {
    Garden garden;
    const auto port = garden.server.port();
    const auto response = client::post(port, "/garden/t/start?protocol=steps", R"({"text":"a garden"})");
    CHECK(response.status == 200);
    const auto lines = response.objects();
    CHECK(kinds(lines, "event") == Kinds{"text-chunk", "tool-call", "tool-call-approval", "finish"});
    CHECK(response.body.find("they want a garden") == std::string::npos);
    CHECK(response.body.find("did dig") == std::string::npos);
    std::string said;
    for (const json::object& line : lines) {
        if (text(line, "event") == "text-chunk") said += text(line, "text");
        if (text(line, "event") == "tool-call") {
            CHECK(text(line, "toolName") == "gardening");
            CHECK(text(line, "text") == R"({"what":"dig"})");
        }
    }
    CHECK(said == "I begin.");
    CHECK(text(lines.back(), "status") == "interrupted");
}

TEST_CASE("a line of the steps protocol names the question by which a call is approved with the others' answers") {
    Garden garden;
    const auto port = garden.server.port();
    json::array answers;
    for (const json::object& line :
         client::post(port, "/garden/t/start?protocol=steps", R"({"text":"a garden"})").objects()) {
        if (text(line, "event") != "tool-call-approval") continue;
        CHECK(!text(line, "toolCallId").empty());
        answers.push_back({{"id", text(line, "interruptId")}, {"value", {{"approved", true}}}});
    }
    REQUIRE(answers.size() == 2);
    const std::string body = json::serialize(json::value{{"answers", answers}});
    const auto lines = client::post(port, "/garden/t/resume?protocol=steps", body).objects();
    CHECK(text(lines.back(), "status") == "done");
    CHECK(garden.ledger->count("burn") == 1);
    CHECK(garden.ledger->count("fell") == 1);
}

TEST_CASE("calls are approved by any client that has the thread's name and the call's, in any order, once each") {
    Garden garden;
    const auto port = garden.server.port();
    client::post(port, "/garden/t/start", R"({"text":"a garden"})");
    const auto first = client::post(port, "/garden/t/decide?protocol=steps", R"({"call_id":"c3","approved":true})");
    CHECK(text(first.objects().back(), "status") == "interrupted");
    CHECK(garden.ledger->count("fell") == 1);
    CHECK(client::post(port, "/garden/t/decide", R"({"call_id":"c3","approved":true})").status == 409);
    CHECK(client::post(port, "/garden/t/decide", R"({"call_id":"zz","approved":true})").status == 409);
    CHECK(client::post(port, "/garden/t/decide", R"({"call_id":"c2"})").status == 409);
    CHECK(client::post(port, "/garden/t/decide", R"({"call_id":"c2","approved":"yes"})").status == 400);
    const auto last = client::post(port, "/garden/t/decide?protocol=steps",
                                   R"({"call_id":"c2","approved":false,"reason":"no fire"})");
    CHECK(text(last.objects().back(), "status") == "done");
    CHECK(garden.ledger->count("burn") == 0);
    CHECK(garden.ledger->count("dig") == 1);
    CHECK(client::get(port, "/garden/t/state").body.find("not approved: no fire") != std::string::npos);
}

TEST_CASE("of two requests that approve a call at the same time one is refused") {
    for (int round = 0; round < 10; ++round) {
        Garden garden;
        const auto port = garden.server.port();
        client::post(port, "/garden/t/start", R"({"text":"a garden"})");
        std::atomic<int> accepted = 0, refused = 0;
        const auto approve = [&] {
            const auto response = client::post(port, "/garden/t/decide", R"({"call_id":"c2","approved":true})");
            const bool failed = response.status != 200 || response.body.find("\"failed\"") != std::string::npos;
            ++(failed ? refused : accepted);
        };
        std::thread other(approve);
        approve();
        other.join();
        CHECK(accepted == 1);
        CHECK(refused == 1);
        CHECK(garden.ledger->count("burn") == 1);
    }
}

TEST_CASE("the UI message stream begins and ends each part, and knows each call by one id") {
    Garden garden;
    const auto port = garden.server.port();
    const auto start = client::post(
        port, "/garden/chat",
        R"({"id":"t","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"a garden"}]}],"trigger":"submit-message"})");
    CHECK(start.status == 200);
    CHECK(start.headers.at("x-vercel-ai-ui-message-stream") == "v1");
    CHECK(start.headers.at("content-type") == "text/event-stream; charset=utf-8");
    CHECK(start.body.ends_with("data: [DONE]\n\n"));
    const auto parts = start.objects();
    std::vector<std::string> open;
    std::map<std::string, int> inputs;
    std::vector<std::string> approvals;
    for (const json::object& part : parts) {
        const std::string type = text(part, "type");
        if (type == "text-start" || type == "reasoning-start") open.push_back(text(part, "id"));
        if (type == "text-end" || type == "reasoning-end") std::erase(open, text(part, "id"));
        if (type == "text-delta") CHECK(open == Kinds{text(part, "id")});
        if (type == "tool-input-available") ++inputs[text(part, "toolCallId")];
        if (type == "tool-approval-request") approvals.push_back(text(part, "toolCallId"));
    }
    CHECK(open.empty());
    CHECK(inputs.size() == 3);
    REQUIRE(approvals.size() == 2);
    CHECK(text(parts.front(), "type") == "start");
    CHECK(text(parts.back(), "type") == "finish");

    const json::value approved{{"id", "t"},
                               {"messages",
                                {{{"id", "a"},
                                  {"role", "assistant"},
                                  {"parts",
                                   {{{"type", "dynamic-tool"},
                                     {"toolCallId", approvals[0]},
                                     {"state", "approval-responded"},
                                     {"approval", {{"id", "x"}, {"approved", true}}}}}}}}}};
    const auto answered = client::post(port, "/garden/chat", json::serialize(approved)).objects();
    CHECK(std::any_of(answered.begin(), answered.end(), [&](const json::object& part) {
        return text(part, "type") == "tool-approval-request" && text(part, "toolCallId") == approvals[1];
    }));
    CHECK(garden.ledger->count("burn") + garden.ledger->count("fell") == 1);
    CHECK(client::get(port, "/garden/chat/t/stream").status == 204);
}

TEST_CASE("the UI message stream does not ask again what was answered, and reports a declined call as denied") {
    Garden garden;
    const auto port = garden.server.port();
    const auto start = client::post(port, "/garden/t/start?protocol=ui", R"({"text":"a garden"})").objects();
    const auto decide = [&](const char* call, bool approved) {
        const json::value body{{"call_id", call}, {"approved", approved}};
        return client::post(port, "/garden/t/decide?protocol=ui", json::serialize(body)).objects();
    };
    const auto partsOf = [](const std::vector<json::object>& parts, std::string_view type) {
        Kinds calls;
        for (const json::object& part : parts) {
            if (text(part, "type") == type) calls.push_back(text(part, "toolCallId"));
        }
        return calls;
    };
    // Clients wait for the result of each call that needs no approval.
    CHECK(partsOf(start, "tool-output-available").size() == 1);
    const auto first = decide("c2", false);
    const Kinds denied = partsOf(first, "tool-output-denied");
    const Kinds asked = partsOf(first, "tool-approval-request");
    REQUIRE(denied.size() == 1);
    REQUIRE(asked.size() == 1);  // c3 is still open
    CHECK(asked[0] != denied[0]);
    CHECK(partsOf(first, "tool-output-error").empty());
    const auto second = decide("c3", true);
    CHECK(partsOf(second, "tool-approval-request").empty());
    const Kinds done = partsOf(second, "tool-output-available");
    CHECK(std::count(done.begin(), done.end(), asked[0]) == 1);
    CHECK(text(second.back(), "type") == "finish");
    const auto looked = client::get(port, "/garden/t/events?protocol=ui");
    CHECK(partsOf(looked.objects(), "tool-approval-request").empty());
}

// A page sends its message once everything in it is decided.
TEST_CASE("a chat's decisions are all taken, and those about a call that the page shows twice count once") {
    Garden garden;
    const auto port = garden.server.port();
    const auto start = client::post(port, "/garden/t/start?protocol=ui", R"({"text":"a garden"})").objects();
    json::array parts;
    for (const json::object& part : start) {
        if (text(part, "type") != "tool-approval-request") continue;
        parts.push_back({{"type", "dynamic-tool"},
                         {"toolCallId", part.at("toolCallId")},
                         {"state", "approval-responded"},
                         {"approval", {{"id", part.at("approvalId")}, {"approved", true}}}});
    }
    REQUIRE(parts.size() == 2);
    parts.push_back(json::value(parts[0]));
    const json::value message{{"id", "a"}, {"role", "assistant"}, {"parts", parts}};
    const json::value chat{{"id", "t"}, {"messages", json::array{message}}};
    client::post(port, "/garden/chat", json::serialize(chat));
    CHECK((garden.ledger->count("burn") == 1 && garden.ledger->count("fell") == 1));
}

TEST_CASE("a client's tool that gives nothing gives null") {
    serve::Server server;
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "a", "show")}), model::assistant("It is shown.")}),
         .tools = {agent::clientTool<Job>("show")},
         .compile = stored()});
    server.add("a", serve::endpoint(helper, {.protocols = {serve::uiMessages()}}));
    const auto answer = [&](const std::string& thread, const std::string& target, const std::string& body) {
        client::post(server.port(), "/a/" + thread + "/start", R"({"text":"go"})");
        CHECK(client::post(server.port(), "/a/" + thread + "/decide", R"({"call_id":"c1"})").status == 409);
        CHECK(client::post(server.port(), target, body).status == 200);
        const auto values = helper.graph().getState({.thread_id = thread}).values;
        CHECK(values.messages.at(2).result->output.isNull());
        CHECK(values.text() == "It is shown.");
    };
    answer("one", "/a/one/decide", R"({"call_id":"c1","output":null})");
    answer("chat", "/a/chat", R"({"id":"chat","messages":[{"role":"assistant","parts":[
        {"type":"dynamic-tool","toolCallId":"c1","state":"output-available"}]}]})");
}

TEST_CASE("the UI message stream reports what is open to a client that only looks") {
    Garden garden;
    const auto port = garden.server.port();
    client::post(port, "/garden/t/start", R"({"text":"a garden"})");
    const auto parts = client::get(port, "/garden/t/events?protocol=ui").objects();
    CHECK(std::count_if(parts.begin(), parts.end(),
                        [](const json::object& part) { return text(part, "type") == "tool-approval-request"; }) == 2);
}

TEST_CASE("chats that make no sense are refused") {
    Garden garden;
    for (const char* body : {"", "[]", "{}", R"({"id":"t","messages":[]})",
                             R"({"messages":[{"role":"user","parts":[{"type":"text","text":"x"}]}]})",
                             R"({"id":"t","messages":[{"role":"user","parts":[]}]})", R"({"id":"t","messages":[7]})"}) {
        CAPTURE(body);
        CHECK(client::post(garden.server.port(), "/garden/chat", body).status == 400);
    }
}

TEST_CASE("calls, results and sources of the provider's own tools are reported once, live and to later clients") {
    using Kind = model::ProviderPartKind;
    const auto part = [](Kind kind, std::string id, std::string data) {
        return model::ProviderPart{kind, "anthropic", std::move(id), "web_search", std::move(data)};
    };
    model::Message first = model::assistant("I search.");
    first.content.emplace_back(part(Kind::call, "s1", R"({"input":{"query":"tea"}})"));
    first.finish_reason = model::FinishReason::paused;
    model::Message second = model::assistant("");
    const std::string source = R"({"url":"https://a","title":"A"})";
    second.content = {part(Kind::result, "s1", R"({"content":[{"url":"https://a"}]})"),
                      model::Text{"Tea."},
                      part(Kind::source, "", source),
                      part(Kind::source, "", R"({"url_citation":)" + source + "}"),
                      part(Kind::source, "", R"({"url":"https://b"})"),
                      part(Kind::source, "", "nonsense"),
                      part(Kind::result, "unknown", "{}")};
    agent::ToolOptions gated;
    gated.approval = true;
    second.calls = {call("c1", "dig", "gated")};
    second.finish_reason = model::FinishReason::tool_calls;
    serve::Server server;
    serve::EndpointOptions options;
    options.protocols = {serve::stepEvents({.tools = {{"web_search", "searching"}}}), serve::uiMessages()};
    server.add("tea",
               serve::endpoint(agent::Agent({.model = model::scripted({first, second, model::assistant("Done.")}),
                                             .tools = {agent::providerTool("web_search", R"({"type":"web_search"})"),
                                                       work(std::make_shared<Ledger>(), "gated", gated)},
                                             .compile = stored()}),
                               options));
    const auto port = server.port();
    const auto check = [](const std::vector<json::object>& lines) {
        std::vector<json::object> told;
        for (const json::object& line : lines) {
            const std::string type = text(line, "type");
            if (line.contains("providerExecuted") || type == "source-url") told.push_back(line);
        }
        REQUIRE(told.size() == 4);
        CHECK(told[0] == json::parse(R"({"type":"tool-input-available","toolCallId":"s1","toolName":"web_search",
            "input":{"query":"tea"},"dynamic":true,"providerExecuted":true})"));
        CHECK(told[1] ==
              json::parse(R"({"type":"tool-output-available","toolCallId":"s1","output":[{"url":"https://a"}],
            "dynamic":true,"providerExecuted":true})"));
        CHECK(told[2] == json::parse(R"({"type":"source-url","sourceId":"https://a","url":"https://a","title":"A"})"));
        CHECK(told[3] == json::parse(R"({"type":"source-url","sourceId":"https://b","url":"https://b"})"));
    };
    check(client::post(port, "/tea/t/start?protocol=ui", R"({"text":"tea?"})").objects());
    check(client::get(port, "/tea/t/events?protocol=ui&from=0").objects());
    const auto steps = client::post(port, "/tea/u/start?protocol=steps", R"({"text":"tea?"})").objects();
    std::vector<json::object> calls;
    for (const json::object& line : steps) {
        if (text(line, "event") == "tool-call") calls.push_back(line);
    }
    REQUIRE(calls.size() == 1);
    CHECK(text(calls[0], "toolName") == "searching");
    CHECK(text(calls[0], "text") == R"({"query":"tea"})");
}

TEST_CASE("a number too large for a double is null in the UI message stream, whose lines stay JSON") {
    model::ToolCall huge = call("c1", "dig");
    huge.arguments = R"({"place":1e400,"list":[-1e999,2]})";
    model::Message first = model::assistant({huge});
    first.content.emplace_back(
        model::ProviderPart{model::ProviderPartKind::call, "anthropic", "s1", "search", R"({"input":{"most":1e400}})"});
    serve::Server server;
    serve::EndpointOptions options;
    options.protocols = {serve::uiMessages(), serve::stepEvents({.tools = {{"search", "searching"}}})};
    server.add("tea", serve::endpoint(agent::Agent({.model = model::scripted({first, model::assistant("Done.")}),
                                                    .tools = {work(std::make_shared<Ledger>())},
                                                    .compile = stored()}),
                                      options));
    const auto port = server.port();
    std::vector<json::value> inputs;
    for (const json::object& line : client::post(port, "/tea/t/start?protocol=ui", R"({"text":"tea?"})").objects()) {
        if (text(line, "type") == "tool-input-available") inputs.push_back(line.at("input"));
    }
    REQUIRE(inputs.size() == 2);
    CHECK(std::ranges::count(inputs, json::parse(R"({"most":null})")) == 1);
    CHECK(std::ranges::count(inputs, json::parse(R"({"place":null,"list":[null,2]})")) == 1);
    for (const json::object& line : client::post(port, "/tea/u/start?protocol=steps", R"({"text":"tea?"})").objects()) {
        if (text(line, "event") == "tool-call") CHECK(text(line, "text") == R"({"most":null})");
    }
}

TEST_CASE("values nested deeper than 32 levels are complete in the UI message stream") {
    constexpr int levels = 200;
    const auto nested = [](json::value inner) {
        for (int i = 0; i < levels; ++i) inner = json::array{std::move(inner)};
        return inner;
    };
    const sg::Value deep = sg::fromJson(nested("tea"));
    const auto tool = agent::tool<sg::Value>("deep", {.parameters = R"({"type":"object"})"},
                                             [deep](const sg::Value& /*given*/, agent::ToolContext& context) {
                                                 context.runtime().write(deep);
                                                 return deep;
                                             });
    model::ToolCall asked = call("c1", "", "deep");
    asked.arguments = json::serialize(json::object{{"x", nested(1)}});
    serve::Server server;
    serve::EndpointOptions options;
    options.protocols = {serve::uiMessages()};
    server.add(
        "tea",
        serve::endpoint(agent::Agent({.model = model::scripted({model::assistant({asked}), model::assistant("Done.")}),
                                      .tools = {tool},
                                      .compile = stored()}),
                        options));
    json::parse_options parsing;
    parsing.max_depth = 512;
    std::map<std::string, json::object> told;
    const auto start = client::post(server.port(), "/tea/t/start?protocol=ui", R"({"text":"tea?"})");
    for (std::size_t from = 0; (from = start.body.find("data: {", from)) != std::string::npos; ++from) {
        const std::size_t end = start.body.find('\n', from);
        const json::object line =
            json::parse(std::string_view(start.body).substr(from + 6, end - from - 6), {}, parsing).as_object();
        told[text(line, "type")] = line;
    }
    CHECK(told.at("data-custom").at("data") == nested("tea"));
    CHECK(told.at("tool-input-available").at("input") == json::value{{"x", nested(1)}});
    CHECK(told.contains("tool-output-available"));
    CHECK(told.at("finish").at("messageMetadata").at("status") == "done");
}
