#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "tests/serve/desk.hpp"
#include "tests/serve/served_state.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// `GET …/messages`: the conversation of a thread, for pages that are loaded.
using namespace desk;
using namespace tools;

namespace {

using Texts = std::vector<std::string>;

agent::Agent alone(std::shared_ptr<const model::Model> model, std::vector<agent::Tool> some = {},
                   std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>()) {
    return agent::Agent({.model = std::move(model), .tools = std::move(some), .compile = stored(std::move(saver))});
}

json::array read(const client::Response& response) {
    CHECK(response.status == 200);
    return json::parse(response.body).as_array();
}

/// Stores a conversation of an agent.
void store(const agent::Agent& agent, std::vector<model::Message> messages, const std::string& thread = "t") {
    agent.graph().updateState({.thread_id = thread}, agent::said(std::move(messages)), {.as_node = "model"});
}

Texts idsOf(const json::array& messages) {
    Texts ids;
    for (const json::value& each : messages) ids.push_back(text(each.as_object(), "id"));
    return ids;
}

}  // namespace

TEST_CASE("the messages that a page loads are those that it was streamed, with their ids and parts") {
    serve::EndpointOptions options{.protocols = {serve::uiMessages()}};
    SUBCASE("as they are by default") {}
    SUBCASE("with typed tools and without thoughts") {
        options.protocols = {serve::uiMessages({.typed_tools = true, .reasoning = false})};
    }
    savers::onEach([&](savers::Store& store) {
        const auto ledger = std::make_shared<Ledger>();
        const auto make = [&] {
            return alone(caller({call("c1", "tea"), call("c2", "fire", "burn"), call("c3", "x", "nothing")}, "Done."),
                         {work(ledger), work(ledger, "burn", gated())}, store.open());
        };
        auto server = serving(make(), {.show_errors = true}, options);
        Page page(server->port());
        REQUIRE(page.say("m1", "go").status == 200);
        CHECK(read(load(server->port(), "t")) == page.messages);
        server.reset();  // as another process
        server = serving(make(), {.show_errors = true}, options);
        CHECK(read(load(server->port(), "t")) == page.messages);
    });
}

TEST_CASE("messages have files, sources, results that failed, and nothing that an agent wrote to its model alone") {
    using Kind = model::ProviderPartKind;
    const agent::Agent agent = alone(caller({}, "Done."));
    model::Message asked = model::user("What is this?");
    asked.id = "user-m1";
    asked.content.insert(asked.content.begin(), model::File{"image/png", "", "iVBO"});
    model::Message first = model::assistant({call("c1", "a")});
    first.id = "a1";
    first.calls[0].id = "one";
    first.content = {model::File{"image/png", "https://a/b", ""}, model::Text{"A cat"},
                     model::ProviderPart{Kind::source, "openai", "", "", R"({"url":"https://a","title":"A"})"}};
    model::Message repair = model::user("Answer again");
    repair.id = "repair-a1";
    model::Message second = model::assistant("of mine");
    second.id = "a2";
    model::Message next = model::user("And?");
    next.id = "next";
    model::Message late = model::toolResult(first.calls[0], sg::Value("no"), true);
    store(agent, {asked, first, repair, second, next, late});
    const auto server = serving(agent, {.show_errors = true});
    const json::array shown = read(load(server->port(), "t"));
    const json::value expected = json::parse(R"([
        {"id":"m1","role":"user","parts":[{"type":"file","mediaType":"image/png","url":"data:image/png;base64,iVBO"},
            {"type":"text","text":"What is this?"}]},
        {"id":"answer-m1","role":"assistant","parts":[{"type":"step-start"},
            {"type":"file","mediaType":"image/png","url":"https://a/b"},
            {"type":"text","text":"A cat","state":"done"},
            {"type":"source-url","sourceId":"https://a","url":"https://a","title":"A"},
            {"type":"dynamic-tool","toolName":"work","toolCallId":"one","state":"output-error","input":{"what":"a"},
                "errorText":"no"},
            {"type":"step-start"},{"type":"text","text":"of mine","state":"done"}]},
        {"id":"next","role":"user","parts":[{"type":"text","text":"And?"}]}])");
    CHECK(shown == expected.as_array());
}

TEST_CASE("while a turn is under way, a page loads what is stored of it, and the rest by the stream") {
    const auto gate = std::make_shared<gates::Gate>();
    const auto ledger = std::make_shared<Ledger>();
    const auto model = caller({call("c1", "tea")}, "Done.", std::make_shared<Heard>(), gate);
    std::unique_ptr<serve::Server> server;
    SUBCASE("of an agent") { server = serving(alone(model, {work(ledger)})); }
    SUBCASE("of an agent inside a graph") {
        server = serving(around({helper(model, {work(ledger)})}, std::make_shared<sg::MemorySaver>()));
    }
    Page page(server->port());
    client::Connection first(server->port());
    const json::value part{{"type", "text"}, {"text", "go"}};
    first.request("POST", "/desk/chat", page.body({{{"id", "m1"}, {"role", "user"}, {"parts", json::array{part}}}}));
    patience::until([&] { return load(server->port(), "t").body.find("did tea") != std::string::npos; });
    page.reload();
    CHECK(idsOf(page.messages) == Texts{"m1", "answer-m1"});
    CHECK(page.shown() == Texts{"reasoning:hm", "text:Let me see.", "work:output-available"});
    client::Connection other(server->port());
    other.request("GET", "/desk/chat/t/stream");
    const client::Response head = other.head();
    CHECK(head.status == 200);
    gate->open();
    client::Response rest;
    for (std::string piece = other.chunk(); !piece.empty(); piece = other.chunk()) rest.body += piece;
    CHECK(text(rest.objects().front(), "messageId") == "answer-m1");
    first.read();
    page.reload();
    CHECK(page.shown().back() == "text:Done.");
}

TEST_CASE("messages come in pages, the newest first asked for, and each page in the order of the conversation") {
    const agent::Agent agent = alone(caller({}, "Done."));
    std::vector<model::Message> messages;
    for (int i = 0; i < 1200; ++i) {
        messages.push_back(model::user("q" + std::to_string(i)));
        messages.back().id = "user-u" + std::to_string(i);
        messages.push_back(model::assistant("a" + std::to_string(i)));
        messages.back().id = "a" + std::to_string(i);
    }
    store(agent, messages);
    const auto server = serving(agent);
    const json::array newest = read(load(server->port(), "t"));
    CHECK(newest.size() == 100);
    CHECK(idsOf(newest).front() == "u1150");
    CHECK(idsOf(newest).back() == "answer-u1199");
    const json::array before = read(load(server->port(), "t", "?before=u1150&limit=3"));
    CHECK(idsOf(before) == Texts{"answer-u1148", "u1149", "answer-u1149"});
    CHECK(read(load(server->port(), "t", "?limit=1000")).size() == 1000);
    CHECK(read(load(server->port(), "t", "?before=u0")).empty());
    CHECK(load(server->port(), "t", "?before=nobody").status == 400);
    for (const char* const limit : {"0", "1001", "-1", "x", "1x"})
        CHECK(load(server->port(), "t", std::string("?limit=") + limit).status == 400);
    const json::array langchain = read(load(server->port(), "t", "?as=langgraph&limit=2"));
    REQUIRE(langchain.size() == 2);
    CHECK(langchain[0].at("type") == "human");
    CHECK(langchain[0].at("content") == "q1199");
    CHECK(langchain[1].at("type") == "ai");
    CHECK(langchain[1].at("content") == "a1199");
    CHECK(idsOf(langchain) == Texts{"user-u1199", "a1199"});
    CHECK(load(server->port(), "t", "?as=other").status == 400);
}

TEST_CASE("messages of another user's thread, of no thread and of a graph without a conversation") {
    serve::ServerOptions options;
    options.owned = true;
    options.authorize = [](const serve::RequestView& asked) -> serve::Admission {
        CHECK(asked.operation() == (asked.method() == "GET" ? "messages" : "chat"));
        const std::string user(asked.header("X-User"));
        if (user.empty()) return {};
        return serve::Identity{.name = user};
    };
    {
        const auto server = serving(alone(caller({}, "Done.")), options);
        const Page page(server->port());
        const json::value part{{"type", "text"}, {"text", "secret"}};
        const json::value message{{"id", "m1"}, {"role", "user"}, {"parts", json::array{part}}};
        CHECK(client::post(server->port(), "/desk/chat", page.body({message}), "X-User: ada\r\n").status == 200);
        CHECK(read(load(server->port(), "t", "", "X-User: ada\r\n")).size() == 2);
        const client::Response other = load(server->port(), "t", "", "X-User: bob\r\n");
        CHECK(other.status == 404);
        CHECK(other.body == "{\"error\":\"there is no thread 't'\"}\n");
        CHECK(load(server->port(), "u", "", "X-User: ada\r\n").status == 404);
        CHECK(load(server->port(), "t").status == 401);
    }
    const auto server = serving(alone(caller({}, "Done.")));
    CHECK(read(load(server->port(), "nobody")).empty());
    for (const char* const name : {"%00", "a%2Fb", "%FF%FE", "%F0%9F%98%80", "a%20b", "'%22%3C"}) {
        CAPTURE(name);
        CHECK(load(server->port(), name).status < 500);
    }
    CHECK(client::get(server->port(), "/nobody/t/messages").status == 404);
    CHECK(client::post(server->port(), "/desk/t/messages", "{}").status == 405);
    sg::StateGraph<served::State> graph;
    graph.addNode("say", [](const served::State&) -> sg::Update<served::State> { return {}; });
    graph.addEdge(sg::START, "say").addEdge("say", sg::END);
    const auto silent = serving(graph.compile(stored()));
    CHECK(load(silent->port(), "t").status == 400);
    const auto without_ui = serving(alone(caller({}, "Done.")), {}, {});
    CHECK(load(without_ui->port(), "t").status == 400);
    CHECK(read(load(without_ui->port(), "t", "?as=langgraph")).empty());
}

TEST_CASE("messages hide the texts of errors that the server hides") {
    const agent::Tool broken =
        agent::tool<Job>("work", {}, [](const Job&) -> std::string { throw std::runtime_error("password is 1234"); });
    const auto serve = [&](bool shows) {
        return serving(alone(caller({call("c1", "a")}, "Done."), {broken}),
                       {.show_errors = shows, .log = [](std::string_view) {}});
    };
    for (const bool shows : {false, true}) {
        const auto server = serve(shows);
        Page page(server->port());
        page.say("m1", "go");
        for (const char* const query : {"", "?as=langgraph"}) {
            const client::Response response = load(server->port(), "t", query);
            CHECK(response.status == 200);
            CHECK((response.body.find("1234") != std::string::npos) == shows);
        }
    }
}
