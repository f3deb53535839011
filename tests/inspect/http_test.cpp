#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/inspect/server.hpp>
#include <stategraph/json.hpp>
#include <stategraph/value_page.hpp>

#include "inspect/http/redaction.hpp"
#include "tests/inspect/inspected_api.hpp"
#include "tests/serve/client.hpp"

// The HTTP interface of the inspector: what it answers, and which requests it refuses.
namespace sg = stategraph;
using namespace inspected_api;
using sg::inspect::Api;
using sg::inspect::Redaction;

namespace {

/// Calls until a run of the page has ended.
void waitForRun(Store& store, const std::string& thread) {
    for (int i = 0; i < 60'000; ++i) {
        const auto head = store.ok({{"threads", thread, "head"}});
        if (!head.at("running").as_bool()) {
            CHECK(textAt(head, "/run_error") == "");
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // sleeps: between two looks
    }
    FAIL("the run does not end");
}

TEST_CASE("every operation of the page answers with JSON, for threads whose names have slashes too") {
    Store store;
    CHECK(store.ok({{"about"}}).at("write").as_bool() == false);
    const auto threads = store.ok({{"threads"}});
    CHECK(threads.at("threads").as_array().size() == 3);
    CHECK(textAt(threads, "/threads/0/status") == "failed");
    CHECK(textAt(threads, "/threads/0/error").find("no stock") != std::string::npos);
    CHECK(threads.at("next").is_null());
    CHECK(threads.at_pointer("/counts/interrupted") == 1);

    const std::string done = "done/with slash";
    CHECK(store.ok({{"threads", done, "logs"}}).at_pointer("/namespaces/0") == "");
    const auto timeline = store.ok({{"threads", done, "timeline"}});
    CHECK(timeline.at("checkpoints").as_array().size() == store.saver->list({.thread_id = done}).size());
    CHECK(timeline.at("next").is_null());
    const std::string second = textAt(timeline, "/checkpoints/1/checkpoint_id");
    const Place from_second{{"threads", done, "timeline"}, {{"from", second}, {"limit", "2"}}};
    const Place before_second{{"threads", done, "timeline"}, {{"before", second}, {"limit", "1"}}};
    CHECK(store.ok(from_second).at_pointer("/checkpoints/0") == timeline.at_pointer("/checkpoints/1"));
    CHECK(store.ok(from_second).at_pointer("/checkpoints/1") == store.ok(before_second).at_pointer("/checkpoints/0"));
    CHECK_THROWS_AS(store.get({{"threads", done, "timeline"}, {{"from", second}, {"before", second}}}),
                    sg::InvalidArgumentError);
    const auto shown = store.checkpoint(done);
    CHECK(textAt(shown, "/thread_id") == done);
    CHECK(shown.at_pointer("/values/items").as_array().size() == 3);
    CHECK(store.ok({{"threads", done, "stats"}}).at("checkpoints") == timeline.at("checkpoints").as_array().size());
    CHECK(store.ok({{"stats"}}).at("threads") == 3);
    CHECK(store.ok({{"stats"}}).at("largest").as_array().empty());
    const auto largest = store.ok({{"stats"}, {{"largest", "2"}}});
    REQUIRE(largest.at("largest").as_array().size() == 2);
    CHECK(textAt(largest, "/largest/0/thread_id") == done);
    CHECK(largest.at_pointer("/largest/0/checkpoints") == timeline.at("checkpoints").as_array().size());
    CHECK(largest.at_pointer("/largest/0/bytes").to_number<int>() >
          largest.at_pointer("/largest/1/bytes").to_number<int>());
    CHECK(store.ok({{"threads", done, "checkpoints", "newest", "graph"}}).at("nodes").as_array().size() == 7);
    const auto lines = store.get({{"threads", done, "export"}});
    CHECK(lines.status == 200);
    CHECK(lines.body.find("done/with slash") != std::string::npos);
}

TEST_CASE("a page of threads is followed by the next, and is filtered by status and text") {
    Store store;
    const auto first = store.ok({{"threads"}, {{"limit", "2"}}});
    REQUIRE(first.at("threads").as_array().size() == 2);
    const auto rest = store.ok({{"threads"}, {{"limit", "2"}, {"after", textAt(first, "/next")}}});
    CHECK(rest.at("threads").as_array().size() == 1);
    CHECK(textAt(rest, "/threads/0/thread_id") == "asks");
    CHECK(rest.at("next").is_null());
    CHECK(textAt(store.ok({{"threads"}, {{"status", "interrupted"}}}), "/threads/0/thread_id") == "asks");
    CHECK(store.ok({{"threads"}, {{"text", "Pay 7"}}}).at("threads").as_array().size() == 1);
    CHECK(store.ok({{"threads"}, {{"text", "nobody"}}}).at("threads").as_array().empty());
}

TEST_CASE("tasks, causes, changes, differences and writers are those of the readers") {
    Store store;
    const auto shown = store.checkpoint("asks");
    CHECK(textAt(shown, "/tasks/0/name") == "ask");
    CHECK(textAt(shown, "/tasks/0/questions/0/value") == "Pay 7?");
    const std::string id = textAt(shown, "/checkpoint_id");
    const std::string parent = textAt(shown, "/parent");
    const auto causes = store.ok({{"threads", "asks", "checkpoints", id, "causes"}});
    CHECK(textAt(causes, "/tasks/0/causes/0/text") == "a goto of gather");
    const auto changes = store.ok({{"threads", "asks", "checkpoints", id, "changes"}});
    CHECK(textAt(changes, "/changes/0/channel") == "notes");
    CHECK(textAt(changes, "/changes/0/change") == "append");
    const auto between = store.ok({{"threads", "asks", "checkpoints", parent, "difference"}, {{"to_checkpoint", id}}});
    CHECK(textAt(between, "/channels/0/channel") == "notes");
    CHECK(between.at_pointer("/channels/0/after").as_array().size() >
          between.at_pointer("/channels/0/before").as_array().size());
    const auto other = store.ok({{"threads", "asks", "checkpoints", id, "difference"},
                                 {{"to_thread", "done/with slash"}, {"to_checkpoint", "newest"}}});
    CHECK(textAt(other, "/channels/1/before") == "tea");
    const auto writers = store.ok({{"threads", "asks", "checkpoints", id, "writers"}, {{"channel", "notes"}}});
    CHECK(textAt(writers, "/entries/0/writers/0") == "gather");
    const auto page = store.ok(
        {{"threads", "asks", "checkpoints", id, "values"}, {{"path", "/notes"}, {"from", "1"}, {"count", "2"}}});
    CHECK(page.at("items").as_array().size() == 2);
    CHECK(store.ok({{"threads", "asks", "checkpoints", id, "value"}, {{"path", "/topic"}}}) == "tea");
    const auto asked = store.ok({{"questions"}});
    CHECK(textAt(asked, "/questions/0/thread_id") == "asks");
}

TEST_CASE("threads are found by metadata, and not by what is redacted of it") {
    Store store({.redact = {"*token*"}});
    store.app.invoke(Update{}, {.thread_id = "tagged", .metadata = {{"shop", "Paris"}, {"token", "SECRET"}}});
    const auto found = store.ok({{"threads"}, {{"metadata", "shop=Paris"}}});
    REQUIRE(found.at("threads").as_array().size() == 1);
    CHECK(textAt(found, "/threads/0/metadata/shop") == "Paris");
    CHECK(textAt(found, "/threads/0/metadata/token").find("SECRET") == std::string::npos);
    CHECK(store.ok({{"threads"}, {{"metadata", "token=SECRET"}}}).at("threads").as_array().empty());
    CHECK_THROWS_AS(store.get({{"threads"}, {{"metadata", "=x"}}}), sg::InvalidArgumentError);
}

TEST_CASE("a graph comes with the graphs inside it, and a task with the log of its own") {
    Store store;
    Graph outer;
    outer.addNode("inner", graph().compile()).addEdge(sg::START, "inner");
    auto app = outer.compile({.checkpointer = store.saver});
    app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "nested"});
    const auto drawn = store.ok({{"threads", "nested", "checkpoints", "newest", "graph"}});
    CHECK(textAt(drawn, "/nodes/0/name") == "inner");
    CHECK(drawn.at_pointer("/subgraphs/inner/nodes").as_array().size() == 7);
    CHECK(drawn.at_pointer("/subgraphs/inner/subgraphs").as_object().empty());
    const auto asks = store.checkpoint("nested");
    const std::string ns = textAt(asks, "/tasks/0/subgraph_ns");
    const auto inside = store.ok({{"threads", "nested", "checkpoints", "newest"}, {{"ns", ns}}});
    CHECK(textAt(inside, "/tasks/0/name") == "ask");
    // The same holds for a task that has finished.
    app.invoke(sg::resume(std::string("yes")), {.thread_id = "nested"});
    const auto first = textAt(store.ok({{"threads", "nested", "timeline"}}), "/checkpoints/1/checkpoint_id");
    CHECK(textAt(store.ok({{"threads", "nested", "checkpoints", first}}), "/tasks/0/subgraph_ns") == ns);
}

TEST_CASE("a client that follows a thread sees that something is new, and how much") {
    Store store;
    const auto before = store.ok({{"threads", "asks", "head"}});
    const std::string id = textAt(before, "/checkpoint_id");
    CHECK(store.ok({{"threads", "asks", "head"}, {{"after", id}}}).at("newer") == 0);
    store.app.invoke(sg::resume(std::string("yes")), {.thread_id = "asks"});
    const auto after = store.ok({{"threads", "asks", "head"}, {{"after", id}}});
    CHECK(after.at("newer").to_number<int>() > 0);
    CHECK(textAt(after, "/mark") != textAt(before, "/mark"));
    // An answer alone does not change a checkpoint.
    store.app.invoke(Update{sg::set(&Order::topic, std::string("more"))}, {.thread_id = "two"});
    const auto asks = store.ok({{"threads", "two", "head"}});
    sg::answer(*store.saver, {.thread_id = "two"}, sg::Value("yes"));
    const auto answered = store.ok({{"threads", "two", "head"}});
    CHECK(textAt(asks, "/checkpoint_id") == textAt(answered, "/checkpoint_id"));
    CHECK(textAt(asks, "/mark") != textAt(answered, "/mark"));
}

TEST_CASE("a request without the key, from another page, or for writing where that is not allowed is refused") {
    Store store;
    CHECK(store.ask({"GET", {}}, {{"about"}}).status == 401);
    CHECK(store.ask({"GET", {{"X-Stategraph-Key", "0123456789abcdeX"}}}, {{"about"}}).status == 401);
    CHECK(store.post({{"threads", "asks", "answer"}}, "{}").status == 403);
    CHECK(store.post({{"threads", "asks", "run"}}, "{}").status == 403);
    CHECK(store.get({{"nothing"}}).status == 404);
    CHECK(store.get({{"threads", "nobody", "timeline"}}).status == 404);
    CHECK(store.get({{"threads", "asks", "answer"}}).status == 405);
    Store writing({.write = true});
    const Asked elsewhere{"POST", {{"X-Stategraph-Key", key}, {"Origin", "http://evil.example"}, {"Host", "h"}}};
    CHECK(writing.ask(elsewhere, {{"threads", "asks", "answer"}}, R"({"key":"x","value":1})").status == 403);
    const Asked program{"POST", {{"X-Stategraph-Key", key}, {"Host", "h"}}};
    CHECK_THROWS_WITH_AS(writing.ask(program, {{"threads", "asks", "answer"}}, R"({"key":"x","value":1})"),
                         doctest::Contains("no open interrupt has the key 'x'"), sg::InvalidArgumentError);
    CHECK(writing.post({{"threads", "asks", "run"}}, "{}").status == 403);  // no graph
    CHECK(writing.saver->list({.thread_id = "asks"}).size() == store.saver->list({.thread_id = "asks"}).size());
    CHECK_THROWS_AS(Api(nullptr, {}), sg::InvalidArgumentError);
}

TEST_CASE("an answer and a fork are stored, and the graph then continues") {
    Store store({.write = true});
    const auto shown = store.checkpoint("asks");
    const std::string id = textAt(shown, "/tasks/0/questions/0/id");
    const auto answered = store.post({{"threads", "asks", "answer"}}, R"({"id":")" + id + R"(","value":"no"})");
    CHECK(answered.value().at("left") == 0);
    CHECK_THROWS_AS(store.post({{"threads", "asks", "answer"}}, R"({"id":")" + id + R"(","value":"yes"})"),
                    sg::InvalidArgumentError);
    CHECK(store.app.invoke(sg::RESUME, {.thread_id = "asks"}).values.topic == "no");

    const auto timeline = store.ok({{"threads", "asks", "timeline"}});
    const std::string old = textAt(timeline, "/checkpoints/2/checkpoint_id");
    const auto forked = store.post({{"threads", "asks", "checkpoints", old, "fork"}}, R"({"note":"again"})");
    CHECK(forked.status == 200);
    const auto newest = store.checkpoint("asks");
    CHECK(textAt(newest, "/checkpoint_id") == textAt(forked.value(), "/checkpoint_id"));
    CHECK(textAt(newest, "/source") == "fork");
    CHECK(textAt(newest, "/metadata/note") == "again");
    CHECK_THROWS_AS(store.post({{"threads", "asks", "answer"}}, "{"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(store.post({{"threads", "asks", "answer"}}, R"({"value":1})"), sg::InvalidArgumentError);
}

TEST_CASE("a program's page edits, runs to the end, runs one superstep, replays, and stops") {
    Store store({.write = true});
    store.api.add("order", std::make_shared<sg::inspect::detail::GraphOnPage<Order, Order, Order>>(store.app));
    CHECK(store.ok({{"about"}}).at("app") == true);
    const auto edited = store.post({{"threads", "new", "checkpoints", "newest", "edit"}},
                                   R"({"values":{"topic":"edited"},"as_node":"__input__"})");
    INFO(edited.body);
    REQUIRE(edited.status == 200);
    CHECK(store.post({{"threads", "new", "run"}}, R"({"until":"next"})").status == 202);
    waitForRun(store, "new");
    const auto stopped = store.checkpoint("new");
    CHECK(stopped.at("next").as_array().size() == 4);  // left, right and two prices
    CHECK(store.post({{"threads", "new", "run"}}, "{}").status == 202);
    waitForRun(store, "new");
    const auto asks = store.checkpoint("new");
    CHECK(textAt(asks, "/tasks/0/questions/0/value") == "Pay 7?");
    const std::string id = textAt(asks, "/tasks/0/questions/0/id");
    CHECK(store.post({{"threads", "new", "run"}}, R"({"answers":[{"id":")" + id + R"(","value":"ok"}]})").status ==
          202);
    waitForRun(store, "new");
    CHECK(store.app.getState({.thread_id = "new"}).values.topic == "ok");

    const std::string first = textAt(store.ok({{"threads", "new", "timeline"}}), "/checkpoints/3/checkpoint_id");
    CHECK(store.post({{"threads", "new", "run"}}, R"({"checkpoint_id":")" + first + R"("})").status == 202);
    waitForRun(store, "new");
    CHECK(store.checkpoint("new").at_pointer("/tasks/0/questions").as_array().size() == 1);
    CHECK(store.post({{"threads", "new", "stop"}}, "{}").value().at("stopped") == false);
    CHECK_THROWS_AS(store.post({{"threads", "new", "run"}}, R"({"graph":"other"})"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(store.post({{"threads", "new", "run"}}, R"({"input":{"total":"text"}})"), sg::WrongTypeError);
}

TEST_CASE("a run of the page stops at its breakpoints, before and after nodes, and passes those of the graph") {
    Store store({.write = true});
    Graph stopping = graph();
    const auto app = stopping.compile({.checkpointer = store.saver, .interrupt_before = {"left"}});
    store.api.add("order", std::make_shared<sg::inspect::detail::GraphOnPage<Order, Order, Order>>(app));
    const auto run = [&](const std::string& body) {
        CHECK(store.post({{"threads", "b", "run"}}, body).status == 202);
        waitForRun(store, "b");
        const auto shown = store.checkpoint("b");
        std::multiset<std::string> due;
        for (const auto& node : shown.at("next").as_array()) due.emplace(node.as_string());
        std::string text;
        for (const std::string& node : due) text += node + " ";
        return text;
    };
    const std::string input = R"("input":{"topic":"tea"})";
    CHECK(run("{" + input + R"(,"interrupt_before":["gather","last"],"interrupt_after":["plan"]})") ==
          "left price price right ");
    CHECK(store.ok({{"threads"}, {{"status", "breakpoint"}}}).at("threads").as_array().size() == 1);
    CHECK(run(R"({"interrupt_before":["gather","last"],"interrupt_after":["plan"]})") == "gather ");
    // The graph's own ones hold where a list is left out, and not where it is empty.
    CHECK(run("{" + input + "}") == "left price price right ");
    CHECK(run("{" + input + R"(,"interrupt_before":[]})").starts_with("ask"));
    CHECK(run("{" + input + R"(,"interrupt_before":["*"]})") == "plan ");
    for (const char* body :
         {R"({"interrupt_before":["nobody"]})", R"({"interrupt_after":["ask","</script>"]})",
          R"({"interrupt_before":["ask"],"until":"next"})", R"({"interrupt_after":[],"until":"next"})"})
        CHECK_THROWS_AS(store.post({{"threads", "b", "run"}}, body), sg::InvalidArgumentError);
    CHECK_THROWS_AS(store.post({{"threads", "b", "run"}}, R"({"interrupt_before":"ask"})"), sg::WrongTypeError);
}

TEST_CASE("what is redacted is in no answer") {
    Store store({.redact = {"to*c"}});
    store.app.invoke(Update{sg::set(&Order::topic, std::string("SECRET"))}, {.thread_id = "secret"});
    const std::string id = textAt(store.checkpoint("secret"), "/checkpoint_id");
    const std::string first = textAt(store.ok({{"threads", "secret", "timeline"}}), "/checkpoints/2/checkpoint_id");
    const std::vector<Place> places = {
        {{"threads"}},
        {{"questions"}},
        {{"threads", "secret", "checkpoints", id}},
        {{"threads", "secret", "checkpoints", first}},
        {{"threads", "secret", "checkpoints", first, "changes"}},
        {{"threads", "secret", "checkpoints", id, "values"}},
        {{"threads", "secret", "checkpoints", id, "values"}, {{"path", "/topic"}}},
        {{"threads", "secret", "checkpoints", id, "value"}},
        {{"threads", "secret", "checkpoints", id, "value"}, {{"path", "/topic"}}},
        {{"threads", "secret", "checkpoints", id, "writers"}, {{"channel", "topic"}}},
        {{"threads", "secret", "checkpoints", id, "difference"}, {{"to_thread", "asks"}}},
        {{"threads", "secret", "checkpoints", id, "graph"}},
    };
    for (const Place& place : places) {
        const Answered answer = store.get(place);
        CAPTURE(place.segments.back());
        CHECK(answer.status == 200);
        CHECK(answer.body.find("SECRET") == std::string::npos);
    }
    CHECK(store.get({{"threads", "secret", "export"}}).status == 403);

    // It is not found by searching either.
    Graph asking;
    asking
        .addNode("ask",
                 [](const Order&, sg::Runtime& runtime) -> Update {
                     const sg::Value question = sg::parseJson(R"({"topic":"HIDDEN","why":"SHOWN"})");
                     return {sg::set(&Order::topic, sg::interrupt<std::string>(runtime, question))};
                 })
        .addEdge(sg::START, "ask");
    asking.compile({.checkpointer = store.saver}).invoke(Update{}, {.thread_id = "hides"});
    CHECK(store.ok({{"threads"}, {{"text", "SHOWN"}}}).at("threads").as_array().size() == 1);
    CHECK(store.ok({{"threads"}, {{"text", "HIDDEN"}}}).at("threads").as_array().empty());
}

TEST_CASE("patterns of what is hidden fit names and paths") {
    const Redaction hidden({"*token*", "card.number", "Password"});
    CHECK(hidden.hides("", "api_TOKEN_2"));
    CHECK(hidden.hides("a.b", "token"));
    CHECK(hidden.hides("card", "number"));
    CHECK(!hidden.hides("cart", "number"));
    CHECK(!hidden.hides("", "number"));
    CHECK(hidden.hides("user", "password"));
    const sg::Value value = sg::parseJson(R"({"card":{"number":"4111","holder":"Ada"},"list":[{"token":1,"b":2}]})");
    CHECK(hidden.apply(value, "").toJson().find("4111") == std::string::npos);
    CHECK(sg::valueAt(hidden.apply(value, ""), "/card/holder").toJson() == "\"Ada\"");
    CHECK(sg::valueAt(hidden.apply(value, ""), "/list/0/b").toJson() == "2");
    CHECK(sg::valueAt(hidden.apply(value, ""), "/list/0/token").toJson() == "\"•••(1 B)\"");
    CHECK(hidden.apply(sg::Value("4111"), "card.number").toJson() == "\"•••(5 B)\"");
    CHECK(hidden.apply(sg::Value("x"), "api_token.deep").toJson() == "\"•••(2 B)\"");
    CHECK(hidden.apply(sg::Value("x"), "card.holder").toJson() == "\"x\"");
    CHECK_THROWS_AS(Redaction({""}), sg::InvalidArgumentError);
}

TEST_CASE("the server is on the loopback, refuses other names, and sends its policy with everything") {
    Store store;
    sg::inspect::Server server(store.saver, {.key = key});
    CHECK(server.url() == "http://127.0.0.1:" + std::to_string(server.port()) + "/#k=" + key);
    const std::string header = std::string("X-Stategraph-Key: ") + key + "\r\n";
    const auto about = client::get(server.port(), "/api/about", header);
    CHECK(about.status == 200);
    CHECK(about.headers.at("content-security-policy").find("default-src 'none'") == 0);
    CHECK(client::get(server.port(), "/api/about").status == 401);
    const auto thread = client::get(server.port(), "/api/threads/done%2Fwith%20slash/timeline", header);
    CHECK(thread.status == 200);
    CHECK(client::get(server.port(), "/etc/passwd").status == 404);
    CHECK(client::get(server.port(), "/../../etc/passwd").status == 404);
    CHECK(client::get(server.port(), "/api/threads/%zz", header).status == 400);
    client::Connection other(server.port());
    other.send("GET /api/about HTTP/1.1\r\nHost: evil.example\r\n" + header + "\r\n");
    CHECK(other.read().status == 421);
    CHECK_THROWS_AS(sg::inspect::Server(store.saver, {.key = "short"}), sg::InvalidArgumentError);
    ::setenv("STATEGRAPH_INSPECTOR_KEY", "fedcba9876543210", 1);
    CHECK(sg::inspect::Server(store.saver).key() == "fedcba9876543210");
    CHECK(sg::inspect::Server(store.saver, {.key = key}).key() == key);
    ::unsetenv("STATEGRAPH_INSPECTOR_KEY");
}

}  // namespace
