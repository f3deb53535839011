// Runs that are rolled back, and runs that are deleted: nothing of them is left in their threads.
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/interrupt.hpp>
#include <stategraph/json.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/stategraph.hpp>

#include "langgraph/identifiers.hpp"
#include "langgraph/records.hpp"
#include "tests/langgraph/served_app.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

namespace json = boost::json;
namespace sg = stategraph;
using langgraph_tests::App;
using langgraph_tests::makeApp;
using langgraph_tests::Served;

namespace {

/// A thread on a server.
class OnThread {
public:
    explicit OnThread(const App& app) : served(app), thread(served.newThread()), at("/threads/" + thread) {}

    std::string begin(const std::string& how) const {
        return Served::textOf(json::parse(served.ask("POST", at + "/runs", R"({"assistant_id": "app", )" + how).body),
                              "run_id");
    }
    json::value wait(const std::string& how) const {
        return json::parse(served.ask("POST", at + "/runs/wait", R"({"assistant_id": "app", )" + how).body);
    }
    json::value get(const std::string& what) const { return served.get(at + what); }
    int statusOf(const std::string& run) const { return served.ask("GET", at + "/runs/" + run).status; }
    std::string lastRun() const { return Served::textOf(get("/runs?limit=1000").as_array().back(), "run_id"); }
    /// What clients see of the thread's log.
    std::string seen() const {
        return json::serialize(get("/state")) + Served::textOf(get(""), "status") + json::serialize(get("/history"));
    }

    Served served;
    std::string thread;
    std::string at;
};

App makeAsking() {
    sg::JsonSchema schema;
    schema.channel("log", sg::JsonReducer::append()).channel("name");
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("ask", [](const sg::JsonState&, sg::Runtime& runtime) -> sg::Update<sg::JsonState> {
        const std::string one = sg::interrupt<std::string>(runtime, "one?");
        const std::string two = sg::interrupt<std::string>(runtime, "two?");
        return {sg::write("log", one + " " + two)};
    });
    graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

constexpr const char* x = R"("input": {"name": "x"}})";
constexpr const char* answers = R"("command": {"resume": "yes"}})";

}  // namespace

TEST_CASE("a run with the strategy rollback removes the one under way, with what it has stored") {
    const auto gate = std::make_shared<gates::Gate>();
    const OnThread on(makeApp(std::make_shared<sg::MemorySaver>(), gate));
    const std::string under_way = on.begin(x);
    patience::until([&] { return on.get("/history").as_array().size() == 3; });
    const std::string waits = on.begin(R"("multitask_strategy": "enqueue", "input": {"name": "w"}})");
    const std::string next = on.begin(R"("multitask_strategy": "rollback", "input": {"name": "y"}})");
    CHECK(on.statusOf(waits) == 404);
    gate->open();
    const json::value result = on.served.join(on.thread, next);
    CHECK(json::serialize(result.at("log")) == R"(["first y","work y"])");
    CHECK(on.statusOf(under_way) == 404);
    CHECK(on.get("/runs").as_array().size() == 1);
    const json::value history = on.get("/history");
    for (const json::value& each : history.as_array()) CHECK(Served::textOf(each.at("metadata"), "run_id") == next);
}

TEST_CASE("a run that is cancelled with the action rollback leaves its thread as it was") {
    const auto gate = std::make_shared<gates::Gate>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    const OnThread on(makeApp(saver, gate));
    (void)on.served.ask("PATCH", on.at, R"({"metadata": {"graph_id": "app"}})");
    makeApp(saver).invoke(sg::Update<sg::JsonState>::of({{"name", "x"}}), {.thread_id = on.thread});
    const std::string before = on.seen();
    const std::string run = on.begin(R"("input": {"name": "y"}})");
    patience::until([&] { return on.get("/history").as_array().size() == 7; });
    CHECK(on.served.ask("POST", on.at + "/runs/" + run + "/cancel?action=rollback").status == 202);
    gate->open();
    patience::until([&] { return on.statusOf(run) == 404; });
    CHECK(on.seen() == before);
}

TEST_CASE("a deleted run is no longer in its thread: what it answered is open again") {
    const OnThread on(makeAsking());
    (void)on.wait(x);
    const std::string asked = on.seen();
    (void)on.wait(answers);
    const std::string first_answer = on.lastRun();
    const std::string asked_again = on.seen();
    (void)on.wait(answers);
    CHECK(Served::textOf(on.get(""), "status") == "idle");
    CHECK(on.served.ask("DELETE", on.at + "/runs/" + on.lastRun()).status == 204);
    CHECK(on.seen() == asked_again);
    CHECK(Served::textOf(on.get(""), "status") == "interrupted");
    CHECK(on.served.ask("DELETE", on.at + "/runs/" + first_answer).status == 204);
    CHECK(on.seen() == asked);
    (void)on.wait(answers);
    CHECK(json::serialize(on.wait(answers).at("log")) == R"(["yes yes"])");
}

TEST_CASE("a run between others is deleted, and what came after it keeps its values") {
    const OnThread on(makeApp(std::make_shared<sg::MemorySaver>()));
    (void)on.wait(x);
    (void)on.wait(R"("input": {"name": "y"}})");
    const std::string between = on.lastRun();
    (void)on.wait(R"("input": {"name": "z"}})");
    const json::value values = on.get("/state").at("values");
    CHECK(on.get("/history?limit=100").as_array().size() == 12);
    CHECK(on.served.ask("DELETE", on.at + "/runs/" + between).status == 204);
    CHECK(on.get("/history?limit=100").as_array().size() == 8);
    CHECK(on.get("/state").at("values") == values);
    (void)on.wait(R"("input": {"name": "w"}})");
    CHECK(on.get("/state").at("values").at("log").as_array().size() == 8);
}

TEST_CASE("a run whose process died before it was rolled back is rolled back by the next process") {
    const auto store = std::make_shared<sg::MemoryStore>();
    const App app = makeApp(std::make_shared<sg::MemorySaver>());
    const sg::langgraph::ApiRecords records(store);
    sg::langgraph::RunRecord run{.run_id = sg::langgraph::newId(), .thread_id = sg::langgraph::newId()};
    run.graph_id = "app";
    run.kwargs = {{"input", {{"name", "x"}}}, {"stream_mode", json::array{"values"}}};
    run.is_cancelled = run.is_rolled_back = true;
    sg::langgraph::ApiRecords::Batch batch;
    batch.put(sg::langgraph::ThreadRecord{.thread_id = run.thread_id, .metadata = {{"graph_id", "app"}}}).put(run);
    records.store(batch);
    (void)app.submit(sg::Update<sg::JsonState>::of({{"name", "x"}}),
                     {.thread_id = run.thread_id, .metadata = sg::Metadata{{"run_id", sg::Value(run.run_id)}}});
    const Served served(app, {}, store);
    patience::until([&] { return !records.run(run.thread_id, run.run_id); });
    CHECK(records.openRuns().empty());
    CHECK(app.getState({.thread_id = run.thread_id}).config.checkpoint_id.empty());
    CHECK(Served::textOf(served.get("/threads/" + run.thread_id), "status") == "idle");
}
