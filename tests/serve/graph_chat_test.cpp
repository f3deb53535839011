#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/agent/open_calls.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/serve/desk.hpp"
#include "tests/support/door.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// Graphs with agents inside, served as agents are: chats, decisions, open calls.
using namespace desk;
using namespace tools;

namespace {

using Texts = std::vector<std::string>;

/// A saver whose process dies: what is stored afterwards is lost.
class Dying final : public Door {
public:
    using Door::Door;
    std::atomic<bool> is_dead = false;

private:
    void put(const sg::PutRequest& request) override {
        if (!is_dead) Door::put(request);
    }
};

json::array saying(const std::string& id, const std::string& words) {
    const json::value part{{"type", "text"}, {"text", words}};
    return {{{"id", id}, {"role", "user"}, {"parts", json::array{part}}}};
}

bool has(const Texts& texts, std::string_view part) {
    return std::ranges::any_of(texts, [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a chat with a graph that has an agent as a node asks, is decided, and answers, also after a restart") {
    bool approved = true;
    SUBCASE("approved") {}
    SUBCASE("declined") { approved = false; }
    savers::onEach([&](savers::Store& store) {
        const auto ledger = std::make_shared<Ledger>();
        const auto heard = std::make_shared<Heard>();
        const auto serve = [&] {
            const agent::Agent inner = helper(caller({call("c1", "tea"), call("c2", "fire", "burn")}, "Done.", heard),
                                              {work(ledger), work(ledger, "burn", gated())});
            return serving(around({inner}, store.open()));
        };
        std::unique_ptr<serve::Server> server = serve();
        Page page(server->port());
        REQUIRE(page.say("m1", "go").status == 200);
        CHECK(page.shown() ==
              Texts{"reasoning:hm", "text:Let me see.", "work:output-available", "burn:approval-requested"});
        CHECK(text(page.last(), "id") == "answer-m1");
        server.reset();
        server = serve();
        Page loaded(server->port());
        loaded.reload();
        CHECK(loaded.messages == page.messages);
        REQUIRE(loaded.decide(approved).status == 200);
        CHECK(ledger->count("tea") == 1);
        CHECK(ledger->count("fire") == (approved ? 1 : 0));
        loaded.reload();
        CHECK(loaded.shown() == Texts{"reasoning:hm", "text:Let me see.", "work:output-available",
                                      approved ? "burn:output-available" : "burn:output-denied", "text:Done."});
        CHECK(loaded.messages.size() == 2);
        // A new turn has the conversation of the first.
        REQUIRE(loaded.say("m2", "again").status == 200);
        CHECK(heard->last().front() == "user:go");
        CHECK(has(heard->last(), approved ? "tool:did fire" : "tool:Error: The call was not approved"));
        const auto state = client::get(server->port(), "/desk/t/state");
        CHECK(state.body.find("about again") != std::string::npos);
    });
}

TEST_CASE("two agents of a graph that wait at the same time are decided about in one chat") {
    bool all = true;
    SUBCASE("at once") {}
    SUBCASE("one after the other") { all = false; }
    savers::onEach([&](savers::Store& store) {
        const auto ledger = std::make_shared<Ledger>();
        const agent::Agent one = helper(caller({call("c1", "a", "burn")}, "One."), {work(ledger, "burn", gated())});
        const agent::Agent two = helper(caller({call("c1", "b", "fell")}, "Two."), {work(ledger, "fell", gated())});
        const auto server = serving(around({one, two}, store.open(), true));
        Page page(server->port());
        REQUIRE(page.say("m1", "go").status == 200);
        page.reload();
        CHECK(page.calls("approval-requested").size() == 2);
        REQUIRE(page.decide(true, all).status == 200);
        page.reload();
        CHECK(page.calls("approval-requested").size() == (all ? 0 : 1));
        if (!all) REQUIRE(page.decide(true).status == 200);
        page.reload();
        CHECK(ledger->count("a") == 1);
        CHECK(ledger->count("b") == 1);
        const Texts shown = page.shown();
        CHECK(std::ranges::count(shown, "burn:output-available") == 1);
        CHECK(std::ranges::count(shown, "fell:output-available") == 1);
        CHECK(has(shown, "One."));
        CHECK(has(shown, "Two."));
    });
}

TEST_CASE("open calls of a graph are found, decided and given results by functions of the library") {
    savers::onEach([](savers::Store& store) {
        const auto ledger = std::make_shared<Ledger>();
        const agent::Agent inner = helper(caller({call("c1", "fire", "burn"), call("c2", "here", "locate")}, "Done."),
                                          {work(ledger, "burn", gated()), agent::clientTool<Job>("locate")});
        const auto graph = around({inner}, store.open());
        const auto asked =
            graph.invoke(sg::Update<Desk>{sg::add(&Desk::messages, model::user("go"))}, {.thread_id = "t"});
        CHECK((asked.status == sg::Status::interrupted));
        const std::vector<agent::OpenCall> open = agent::openCalls(graph, "t");
        REQUIRE(open.size() == 2);
        CHECK(open[0].tool == "burn");
        CHECK(open[1].is_for_client);
        CHECK(open[1].provider_id == "c2");
        CHECK_THROWS_AS(agent::decide(graph, "t", "nobody", {.approved = true}), sg::InvalidArgumentError);
        CHECK_THROWS_AS(agent::decide(graph, "t", "c2", {.approved = true}), sg::InvalidArgumentError);
        sg::Command<> answers = agent::decide(graph, "t", open[0].id, {.approved = true});
        for (sg::Answer& each : agent::give(graph, "t", "c2", {sg::Value("Oslo")}).answers)
            answers.answers.push_back(std::move(each));
        const auto done = graph.invoke(answers, {.thread_id = "t"});
        CHECK((done.status == sg::Status::done));
        CHECK(done.values.messages.back().text() == "Done.");
        CHECK(ledger->count("fire") == 1);
        CHECK(agent::openCalls(graph, "t").empty());
    });
}

TEST_CASE("a user who writes instead of deciding does not lose what the agent inside has done") {
    savers::onEach([](savers::Store& store) {
        const auto ledger = std::make_shared<Ledger>();
        const auto heard = std::make_shared<Heard>();
        const agent::Agent inner = helper(caller({call("c1", "tea"), call("c2", "fire", "burn")}, "Done.", heard),
                                          {work(ledger), work(ledger, "burn", gated())});
        const auto server = serving(around({inner}, store.open()));
        Page page(server->port());
        REQUIRE(page.say("m1", "go").status == 200);
        REQUIRE(page.say("m2", "wait").status == 200);
        CAPTURE(json::serialize(json::value_from(heard->last())));
        CHECK(heard->last() == Texts{"user:go", "model:[work][burn]Let me see.", "tool:did tea",
                                     "tool:The call was not run: it waited for an approval, which was not given "
                                     "before the user wrote again.",
                                     "user:wait"});
        page.reload();
        CHECK(page.messages.size() == 4);
        page.messages.pop_back();
        page.messages.pop_back();
        CHECK(page.shown() == Texts{"reasoning:hm", "text:Let me see.", "work:output-available", "burn:output-error"});
        CHECK(ledger->count("fire") == 0);
    });
}

TEST_CASE("a message that is sent again continues a turn that was stopped, and the page gets the whole of it") {
    bool is_agent = false;
    SUBCASE("of a graph") {}
    SUBCASE("of an agent") { is_agent = true; }
    savers::onEach([&](savers::Store& store) {
        const auto gate = std::make_shared<gates::Gate>();
        const auto ledger = std::make_shared<Ledger>();
        const agent::Agent inner =
            helper(caller({call("c1", "tea")}, "Done.", std::make_shared<Heard>(), gate), {work(ledger)});
        std::unique_ptr<serve::Server> server;
        if (is_agent) {
            const agent::Agent alone({.model = caller({call("c1", "tea")}, "Done.", std::make_shared<Heard>(), gate),
                                      .tools = {work(ledger)},
                                      .compile = stored(store.open())});
            server = serving(alone);
        } else {
            server = serving(around({inner}, store.open()));
        }
        Page page(server->port());
        {
            client::Connection first(server->port());
            first.request("POST", "/desk/chat", page.body(saying("m1", "go")));
            patience::until([&] {  // the model is asked for its second answer
                const client::Response response = load(server->port(), "t");
                return response.body.find("did tea") != std::string::npos;
            });
            CHECK(client::post(server->port(), "/desk/t/cancel", "{}").status == 200);
            gate->open();
            first.read();
            // A turn that was stopped is not continued by a page that is loaded.
            CHECK(client::get(server->port(), "/desk/chat/t/stream").status == 204);
        }
        REQUIRE(page.say("m1", "go").status == 200);
        CHECK(text(page.last(), "id") == "answer-m1");
        const Texts shown = page.shown();
        CAPTURE(json::serialize(json::value_from(shown)));
        REQUIRE(shown.size() >= 4);
        CHECK(Texts(shown.begin(), shown.begin() + 3) ==
              Texts{"reasoning:hm", "text:Let me see.", "work:output-available"});
        CHECK(shown.back() == "text:Done.");
        CHECK(ledger->count("tea") == 1);
        page.reload();
        CHECK(page.messages.size() == 2);
        CHECK(page.shown().back() == "text:Done.");
    });
}

TEST_CASE("a turn whose server died continues when the page comes back, which gets the whole of its answer") {
    bool is_agent = false;
    SUBCASE("of a graph") {}
    SUBCASE("of an agent") { is_agent = true; }
    savers::onEach([&](savers::Store& store) {
        const auto gate = std::make_shared<gates::Gate>();
        const auto ledger = std::make_shared<Ledger>();
        const std::shared_ptr<sg::BaseCheckpointSaver> kept = store.open();
        const auto serve = [&](std::shared_ptr<sg::BaseCheckpointSaver> saver,
                               const std::shared_ptr<gates::Gate>& waits) {
            const auto model = caller({call("c1", "tea")}, "Done.", std::make_shared<Heard>(), waits);
            serve::ServerOptions options;
            options.authorize = [](const serve::RequestView& asked) -> serve::Admission {
                return serve::Identity{.name = std::string(asked.header("X-User"))};
            };
            if (!is_agent) return serving(around({helper(model, {work(ledger)})}, std::move(saver)), options);
            return serving(agent::Agent({.model = model, .tools = {work(ledger)}, .compile = stored(std::move(saver))}),
                           options);
        };
        const auto dying = std::make_shared<Dying>(kept);
        const auto first = serve(dying, gate);
        Page page(first->port());
        client::Connection connection(first->port());
        const std::string ada = "X-User: ada\r\n";
        connection.request("POST", "/desk/chat", page.body(saying("m1", "go")), ada);
        patience::until([&] { return load(first->port(), "t").body.find("did tea") != std::string::npos; });
        dying->is_dead = true;
        const auto second = serve(std::make_shared<Door>(kept), nullptr);
        const std::string stream = "/desk/chat/t/stream";
        CHECK(client::get(second->port(), stream, ada + "Origin: https://example.org\r\n").status == 204);
        CHECK(client::get(second->port(), stream, "X-User: bob\r\n").status == 204);
        CHECK(client::get(second->port(), stream).status == 204);
        const client::Response response = client::get(second->port(), stream, ada);
        gate->open();
        CHECK(response.status == 200);
        std::vector<std::string> lines;
        for (const json::object& line : response.objects()) lines.push_back(json::serialize(line));
        CHECK(text(response.objects().front(), "messageId") == "answer-m1");
        Page other(second->port());
        other.messages = {{{"id", "answer-m1"}, {"role", "assistant"}, {"parts", serve::partsBuiltOf(lines)}}};
        CHECK(other.shown() == Texts{"reasoning:hm", "text:Let me see.", "work:output-available", "text:Done."});
        CHECK(ledger->count("tea") == 1);
        const Texts streamed = other.shown();
        other.reload();
        CHECK(other.shown() == streamed);
        CHECK(client::get(second->port(), stream, ada).status == 204);
    });
}

TEST_CASE("a graph whose own nodes write messages is talked with, and its other questions are shown") {
    savers::onEach([](savers::Store& store) {
        sg::StateGraph<Desk> graph;
        graph.addNode("ask", [](const Desk& desk, sg::Runtime& runtime) -> sg::Update<Desk> {
            const auto color = sg::interrupt<std::string>(runtime, "color", "Which color?");
            return {sg::add(&Desk::messages, model::assistant(desk.messages.back().text() + " in " + color))};
        });
        graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
        const auto server = serving(graph.compile(stored(store.open())));
        Page page(server->port());
        REQUIRE(page.say("m1", "A chair").status == 200);
        page.reload();
        CHECK(page.messages.size() == 2);
        const json::object& question = page.last().at("parts").as_array().back().as_object();
        CHECK(text(question, "type") == "data-question");
        CHECK(question.at("data").at("text") == "Which color?");
        const auto decided = client::post(server->port(), "/desk/t/decide", R"({"call_id":"c1","approved":true})");
        CHECK(decided.status == 409);
        CHECK(client::post(server->port(), "/desk/t/resume", R"({"resume":"red"})").status == 200);
        page.reload();
        CHECK(page.shown() == Texts{"text:A chair in red"});
        // A start with a text goes on with a thread that has ended; an input needs `again`.
        CHECK(client::post(server->port(), "/desk/t/start", R"({"text":"A table"})").status == 200);
        CHECK(client::post(server->port(), "/desk/t/resume", R"({"resume":"blue"})").status == 200);
        CHECK(client::post(server->port(), "/desk/t/start", R"({"input":{"topic":"x"}})").status == 409);
        page.reload();
        CHECK(page.messages.size() == 4);
        CHECK(page.shown() == Texts{"text:A table in blue"});
    });
}

TEST_CASE("a message that is edited or answered anew is so in a graph too") {
    const auto heard = std::make_shared<Heard>();
    const auto server = serving(around({helper(caller({}, "Done.", heard), {})}, std::make_shared<sg::MemorySaver>()));
    Page page(server->port());
    page.say("m1", "one");
    page.say("m2", "two");
    CHECK(heard->last() == Texts{"user:one", "model:Done.", "user:two"});
    page.say("m2", "two", "regenerate-message");
    CHECK(heard->last() == Texts{"user:one", "model:Done.", "user:two"});
    page.say("m1", "changed", "regenerate-message");
    CHECK(heard->last() == Texts{"user:changed"});
    page.reload();
    CHECK(page.messages.size() == 2);
    // The same id with another text is another message, with an id that the page receives.
    page.say("m1", "other");
    CHECK(text(page.last(), "id") == "answer-m1-2");
    page.say("m1", "other");  // sent again: the same turn
    CHECK(text(page.last(), "id") == "answer-m1-2");
    page.reload();
    CHECK(page.messages.size() == 4);
    CHECK(text(page.messages[2].as_object(), "id") == "m1-2");
    CHECK(text(page.last(), "id") == "answer-m1-2");
}
