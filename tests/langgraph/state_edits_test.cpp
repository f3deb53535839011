// Edits of a state without values, the metadata of a thread, and one checkpoint of a history.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/interrupt.hpp>
#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "langgraph/identifiers.hpp"
#include "tests/langgraph/served_app.hpp"
#include "tests/serve/client.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;
using langgraph_tests::App;
using langgraph_tests::makeApp;
using langgraph_tests::Served;

/// A thread that has run once, with metadata.
struct Ran : Served {
    Ran() : Served(makeApp(std::make_shared<sg::MemorySaver>())), at("/threads/" + newThread()) {
        CHECK(ask("POST", at + "/runs/wait",
                  R"({"assistant_id": "app", "input": {"name": "x"}, "metadata": {"team": "night"}})")
                  .status == 200);
        before = history("{}");
    }
    json::array history(const std::string& body) const {
        return json::parse(ask("POST", at + "/history", body).body).as_array();
    }
    static std::string idOf(const json::value& state) { return textOf(state.at("checkpoint"), "checkpoint_id"); }

    std::string at;
    json::array before;  // the history, the newest first
};

sg::Update<sg::JsonState> asked(sg::Runtime& runtime, const char* question, const char* channel) {
    return {sg::write(channel, sg::interrupt<std::string>(runtime, question))};
}

/// A graph whose nodes inside ask, and which asks again after them.
App makeInnerAsking(const std::vector<std::string>& inside) {
    sg::JsonSchema schema;
    for (const std::string& each : inside) schema.channel(each);
    sg::JsonSchema outer_schema = schema;
    sg::StateGraph<sg::JsonState> inner(schema);
    for (const std::string& each : inside) {
        inner.addNode(each, [each](const sg::JsonState&, sg::Runtime& runtime) -> sg::Update<sg::JsonState> {
            return asked(runtime, "inside?", each.c_str());
        });
        inner.addEdge(sg::START, each).addEdge(each, sg::END);
    }
    outer_schema.channel("name").channel("deleted");
    sg::StateGraph<sg::JsonState> outer(outer_schema);
    outer.addNode("inner", inner.compile());
    outer.addNode("delete", [](const sg::JsonState&, sg::Runtime& runtime) -> sg::Update<sg::JsonState> {
        return asked(runtime, "delete everything?", "deleted");
    });
    outer.addEdge(sg::START, "inner").addEdge("inner", "delete").addEdge("delete", sg::END);
    return outer.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

/// What a client gets that answers after an edit inside of the task that waits, which is made as a node there.
json::value answeredAfterEdit(const Served& served, const std::string& at, const std::string& as_node) {
    CHECK(served.ask("POST", at + "/runs/wait", R"({"assistant_id": "app", "input": {"name": "x"}})").status == 200);
    const json::value asking = served.get(at + "/state");
    const json::object edit{
        {"values", nullptr}, {"as_node", as_node}, {"checkpoint", asking.at("tasks").at(0).at("checkpoint")}};
    CHECK(served.ask("POST", at + "/state", json::serialize(edit)).status == 200);
    return json::parse(
        served.ask("POST", at + "/runs/wait", R"({"assistant_id": "app", "command": {"resume": "yes"}})").body);
}

}  // namespace

TEST_CASE("an edit without values and without a node stores the checkpoint once more, after itself") {
    const Ran ran;
    const json::value& work_due = ran.before[1];
    REQUIRE(work_due.at("next") == json::value(json::array{"work"}));
    const std::string body = R"({"values": null, "checkpoint_id": ")" + Ran::idOf(work_due) + "\"}";
    CHECK(ran.ask("POST", ran.at + "/state", body).status == 200);
    const json::value made = ran.get(ran.at + "/state");
    CHECK(made.at("next") == work_due.at("next"));
    CHECK(made.at("values") == work_due.at("values"));
    CHECK(made.at("parent_checkpoint").at("checkpoint_id") == json::value(Ran::idOf(work_due)));
    CHECK(made.at("metadata").at("source") == "update");
    CHECK(made.at("metadata").at("step").as_int64() == work_due.at("metadata").at("step").as_int64() + 1);
    CHECK_FALSE(made.at("metadata").as_object().contains("team"));
    const json::value result =
        json::parse(ran.ask("POST", ran.at + "/runs/wait", R"({"assistant_id": "app", "input": null})").body);
    CHECK(result.at("log") == json::value(json::array{"first x", "work x"}));
    CHECK(ran.ask("POST", ran.at + "/state", R"({"values": null, "as_node": "__copy__"})").status == 200);
    CHECK(ran.get(ran.at + "/state").at("metadata").at("source") == "fork");
}

TEST_CASE("an edit that ends a thread keeps the metadata of what it ends") {
    const Ran ran;
    const std::string body =
        R"({"values": null, "as_node": "__end__", "checkpoint_id": ")" + Ran::idOf(ran.before[1]) + "\"}";
    CHECK(ran.ask("POST", ran.at + "/state", body).status == 200);
    const json::value ended = ran.get(ran.at + "/state");
    CHECK(ended.at("next").as_array().empty());
    CHECK(ended.at("metadata").at("source") == "update");
    CHECK(ended.at("metadata").at("team") == "night");
    CHECK(ended.at("metadata").at("run_id") == ran.before[1].at("metadata").at("run_id"));
}

TEST_CASE("a history at a checkpoint has that checkpoint alone") {
    const Ran ran;
    const std::string id = Ran::idOf(ran.before[1]);
    const auto at = [&](const std::string& checkpoint, const std::string& more = {}) {
        return ran.history(R"({"checkpoint": {"checkpoint_id": ")" + checkpoint + "\"}" + more + "}");
    };
    const json::array one = at(id);
    REQUIRE(one.size() == 1);
    CHECK(one[0] == ran.before[1]);
    CHECK(at(id, R"(, "before": ")" + id + "\"").empty());
    CHECK(at(id, R"(, "before": ")" + Ran::idOf(ran.before[0]) + "\"").size() == 1);
    CHECK(at(id, R"(, "metadata": {"team": "night"})").size() == 1);
    CHECK(at(id, R"(, "metadata": {"team": "day"})").empty());
    CHECK(at(sg::langgraph::newId()).empty());
}

TEST_CASE("a change of a state's metadata is one of its thread's") {
    const Ran ran;
    CHECK(ran.ask("PATCH", ran.at + "/state", R"({"metadata": {"team": "day", "n": 1}})").status == 204);
    const json::value thread = ran.get(ran.at);
    CHECK(thread.at("metadata").at("team") == "day");
    CHECK(thread.at("metadata").at("n") == 1);
    CHECK(thread.at("metadata").at("graph_id") == "app");
    CHECK(ran.ask("PATCH", ran.at + "/state", "{}").status == 422);
}

TEST_CASE("an answer after an edit is not given to a question that a later superstep asks") {
    const Served served(makeInnerAsking({"in_ask"}));
    const std::string at = "/threads/" + served.newThread();
    const json::value result = answeredAfterEdit(served, at, "in_ask");
    CHECK(result.at("__interrupt__").at(0).at("value") == "delete everything?");
    const json::value state = served.get(at + "/state");
    CHECK(state.at("next") == json::value(json::array{"delete"}));
    CHECK_FALSE(state.at("values").as_object().contains("deleted"));
}

TEST_CASE("an answer after an edit is refused if several questions are asked again") {
    const Served served(makeInnerAsking({"left", "right"}));
    const std::string at = "/threads/" + served.newThread();
    CHECK(answeredAfterEdit(served, at, "__start__").as_object().contains("__error__"));
    CHECK(served.get(at + "/state").at("next") == json::value(json::array{"inner"}));
    CHECK(served.get(at + "/runs").as_array().size() == 2);
}

TEST_CASE("an assistant is deleted with its threads if the client wants that, unless one is busy") {
    const auto gate = std::make_shared<gates::Gate>();
    const Served served(makeApp(std::make_shared<sg::MemorySaver>(), gate));
    const auto made = [&] {
        return Served::textOf(json::parse(served.ask("POST", "/assistants", R"({"graph_id": "app"})").body),
                              "assistant_id");
    };
    const std::string mine = made();
    const std::string other = made();
    const auto begin = [&](const std::string& assistant) {
        std::string thread = served.newThread();
        const std::string body = R"({"assistant_id": ")" + assistant + R"(", "input": {"name": "x"}})";
        const json::value run = json::parse(served.ask("POST", "/threads/" + thread + "/runs", body).body);
        return std::pair(std::move(thread), Served::textOf(run, "run_id"));
    };
    const auto [first, first_run] = begin(mine);
    const auto [second, second_run] = begin(other);
    CHECK(served.ask("DELETE", "/assistants/" + mine + "?delete_threads=true").status == 409);
    CHECK(served.ask("GET", "/assistants/" + mine).status == 200);
    gate->open();
    (void)served.join(first, first_run);
    (void)served.join(second, second_run);
    CHECK(served.ask("DELETE", "/assistants/" + mine + "?delete_threads=true").status == 200);
    CHECK(served.ask("GET", "/threads/" + first).status == 404);
    CHECK(served.ask("GET", "/threads/" + second).status == 200);
}
