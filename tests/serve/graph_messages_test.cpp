#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/agent/open_calls.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/json.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/serve/desk.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// Messages to graphs with agents inside: while a run is under way, and where a person has edited a call beside one that
// waits.
using namespace desk;
using namespace tools;

namespace {

using Lines = std::vector<std::string>;

Lines conversationOf(const sg::CompiledGraph<Desk>& graph) {
    Lines all;
    for (const model::Message& each : graph.getState({.thread_id = "t"}).values.messages)
        all.push_back((each.role == model::Role::user ? "user:"
                       : each.result                  ? "tool:"
                                                      : "model:") +
                      (each.result ? each.result->text() : each.text()));
    return all;
}

std::string sending(const Page& page, const std::string& id, const std::string& words, const std::string& strategy) {
    const json::value part{{"type", "text"}, {"text", words}};
    json::object body =
        json::parse(page.body({{{"id", id}, {"role", "user"}, {"parts", json::array{part}}}})).as_object();
    body["multitask_strategy"] = strategy;
    return json::serialize(body);
}

}  // namespace

TEST_CASE("a message for a graph whose run is under way waits for its end, and begins the next turn, once") {
    savers::onEach([](savers::Store& store) {
        const auto gate = std::make_shared<gates::Gate>();
        const auto ledger = std::make_shared<Ledger>();
        const auto graph =
            around({helper(caller({call("c1", "tea")}, "Done.", std::make_shared<Heard>(), gate), {work(ledger)})},
                   store.open());
        const auto server = serving(graph);
        const Page page(server->port());
        client::Connection first(server->port());
        first.request("POST", "/desk/chat", sending(page, "m1", "go", "reject"));
        patience::until([&] { return ledger->count("tea") == 1; });
        const auto post = [&](const std::string& body) { return client::post(server->port(), "/desk/chat", body); };
        CHECK(post(sending(page, "m2", "wait", "reject")).status == 409);
        const client::Response steered = post(sending(page, "m2", "wait", "steer"));
        CHECK(steered.status == 400);
        CHECK(steered.body.find("cannot steer the run of a graph") != std::string::npos);
        for (int i = 0; i < 2; ++i) {  // sent again: the same message
            const client::Response sent = post(sending(page, "m2", "wait", "enqueue"));
            CHECK(sent.status == 202);
            CHECK(sent.body == "{\"sent\":\"enqueue\"}\n");
        }
        CHECK(client::get(server->port(), "/desk/inbox%20t/state").status == 404);
        gate->open();
        first.read();
        patience::until([&] { return conversationOf(graph).size() == 8 && server->runs() == 0; });
        CHECK(conversationOf(graph) == Lines{"user:go", "model:Let me see.", "tool:did tea", "model:Done.", "user:wait",
                                             "model:Let me see.", "tool:did tea", "model:Done."});
        // What was taken is not kept, and a turn that follows does not take it again.
        Page loaded(server->port());
        REQUIRE(loaded.say("m3", "more").status == 200);
        patience::until([&] { return server->runs() == 0; });
        CHECK(std::ranges::count(conversationOf(graph), "user:wait") == 1);
        loaded.reload();
        CHECK(loaded.messages.size() == 6);
    });
}

TEST_CASE("a message that another server has stored is found when a run has ended here") {
    const auto graph = around({helper(caller({}, "Done."), {})}, std::make_shared<sg::MemorySaver>());
    graph.invoke(sg::Update<Desk>{sg::add(&Desk::messages, model::user("go"))}, {.thread_id = "t"});
    const auto here = serve::endpoint(graph);
    const auto there = serve::endpoint(graph);
    CHECK(!here->takeSent("t"));
    there->send("t", sg::parseJson(R"({"text": "wait"})"), false);
    CHECK(here->takeSent("t"));
}

TEST_CASE("a graph that holds no conversation takes no message while it runs, and says why") {
    struct Plain {
        std::string topic = {};
        static constexpr auto channels() { return sg::channels(sg::channel("topic", &Plain::topic)); }
    };
    const auto gate = std::make_shared<gates::Gate>();
    const auto begun = std::make_shared<std::atomic<int>>(0);
    sg::StateGraph<Plain> graph;
    graph.addNode("wait", [=](const Plain&) {
        ++*begun;
        gate->wait();
        return sg::Update<Plain>();
    });
    graph.addEdge(sg::START, "wait").addEdge("wait", sg::END);
    const auto server =
        serving(graph.compile(stored(std::make_shared<sg::MemorySaver>())), {}, {.protocols = {serve::ownEvents()}});
    client::Connection first(server->port());
    first.request("POST", "/desk/t/start", R"({"input":{"topic":"x"}})");
    patience::until([&] { return *begun == 1; });
    const auto refused =
        client::post(server->port(), "/desk/t/start?multitask_strategy=enqueue", R"({"input":{"topic":"y"}})");
    CHECK(refused.status == 400);
    CHECK(refused.body.find("no channel") != std::string::npos);
    gate->open();
    first.read();
}

TEST_CASE(
    "a call whose arguments a person has edited, beside one that waits, is shown and told to models as executed") {
    savers::onEach([](savers::Store& store) {
        const auto ledger = std::make_shared<Ledger>();
        const auto heard = std::make_shared<Heard>();
        const agent::Agent inner =
            helper(caller({call("c1", "tea", "burn"), call("c2", "fire", "fell")}, "Done.", heard),
                   {work(ledger, "burn", gated()), work(ledger, "fell", gated())});
        const auto graph = around({inner}, store.open());
        const auto server = serving(graph);
        Page page(server->port());
        REQUIRE(page.say("m1", "go").status == 200);
        const auto decided = client::post(server->port(), "/desk/t/decide",
                                          R"({"call_id":"c1","approved":true,"arguments":{"what":"milk"}})");
        REQUIRE(decided.status == 200);
        CHECK(ledger->count("milk") == 1);
        page.reload();
        CHECK(page.shown() ==
              Lines{"reasoning:hm", "text:Let me see.", "burn:output-available", "fell:approval-requested"});
        const std::string shown = json::serialize(page.last());
        CHECK(shown.find("milk") != std::string::npos);
        CHECK(shown.find("\"what\":\"tea\"") == std::string::npos);
        REQUIRE(page.say("m2", "wait").status == 200);
        CHECK(heard->last() == Lines{"user:go", "model:[burn][fell]Let me see.", "tool:did milk",
                                     "tool:The call was not run: it waited for an approval, which was not given before "
                                     "the user wrote again.",
                                     "user:wait"});
        const auto messages = graph.getState({.thread_id = "t"}).values.messages;
        REQUIRE(messages.size() > 1);
        CHECK(messages[1].calls.at(0).arguments == R"({"what":"milk"})");
    });
}

TEST_CASE("a page that is loaded shows what an agent's finished calls returned, while another call waits") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent alone({.model = caller({call("c1", "tea"), call("c2", "fire", "burn")}, "Done."),
                              .tools = {work(ledger), work(ledger, "burn", gated())},
                              .compile = stored()});
    const auto server = serving(alone);
    Page page(server->port());
    REQUIRE(page.say("m1", "go").status == 200);
    page.reload();
    CHECK(page.shown() ==
          Lines{"reasoning:hm", "text:Let me see.", "work:output-available", "burn:approval-requested"});
}
