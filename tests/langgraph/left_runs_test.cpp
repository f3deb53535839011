// What a server makes of the runs that another process has left.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/stategraph.hpp>

#include "langgraph/identifiers.hpp"
#include "langgraph/records.hpp"
#include "tests/langgraph/served_app.hpp"

namespace json = boost::json;
namespace sg = stategraph;
using langgraph_tests::App;
using langgraph_tests::makeApp;
using langgraph_tests::Served;

namespace {

/// What a process leaves that dies: records of runs on a thread, and its log.
class Left {
public:
    explicit Left(App of = makeApp(std::make_shared<sg::MemorySaver>())) : app(std::move(of)) {}

    sg::langgraph::RunRecord run(const char* name) {
        sg::langgraph::RunRecord run{.run_id = sg::langgraph::newId(), .thread_id = thread, .graph_id = "app"};
        run.kwargs = {{"input", {{"name", name}}}, {"stream_mode", json::array{"values"}}};
        run.created_at = run.updated_at = sg::langgraph::now();
        sg::langgraph::ApiRecords::Batch batch;
        batch.put(sg::langgraph::ThreadRecord{.thread_id = thread, .metadata = {{"graph_id", "app"}}}).put(run);
        records.store(batch);
        return run;
    }
    sg::RunConfig config(const sg::langgraph::RunRecord& run) const {
        return {.thread_id = thread, .metadata = sg::Metadata{{"run_id", sg::Value(run.run_id)}}};
    }
    /// The log's texts after the next process has joined a run.
    std::string logAfter(const sg::langgraph::RunRecord& run) const {
        const Served served(app, {}, store);
        const json::value result = served.join(thread, run.run_id);
        const json::value runs = served.get("/threads/" + thread + "/runs");
        for (const json::value& each : runs.as_array()) CHECK(Served::textOf(each, "status") == "success");
        CHECK(Served::textOf(served.get("/threads/" + thread), "status") == "idle");
        CHECK(records.openRuns().empty());
        return json::serialize(result.at("log"));
    }

    const std::shared_ptr<sg::MemoryStore> store = std::make_shared<sg::MemoryStore>();
    const App app;
    const sg::langgraph::ApiRecords records{store};
    const std::string thread = sg::langgraph::newId();
};

}  // namespace

TEST_CASE("a run that a process has left gets the end that the log says") {
    Left left;
    const auto run = left.run("x");
    left.app.invoke(sg::Update<sg::JsonState>::of({{"name", "x"}}), left.config(run));
    CHECK(left.logAfter(run) == R"(["first x","work x"])");
}

TEST_CASE("of the runs that a process has left, one that is in flight resumes, and then one that waits begins") {
    Left left;
    const auto in_flight = left.run("x");
    (void)left.app.submit(sg::Update<sg::JsonState>::of({{"name", "x"}}), left.config(in_flight));
    const auto waiting = left.run("y");
    CHECK(left.logAfter(waiting) == R"(["first x","work x","first y","work y"])");
}

TEST_CASE("a run whose end was not stored has ended if others have continued its thread since") {
    Left left;
    const auto run = left.run("x");
    left.app.invoke(sg::Update<sg::JsonState>::of({{"name", "x"}}), left.config(run));
    left.app.invoke(sg::Update<sg::JsonState>::of({{"name", "y"}}), {.thread_id = left.thread});
    CHECK(left.logAfter(run) == R"(["first x","work x","first y","work y"])");
}

namespace {

/// A graph whose node asks two questions, one after the other.
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

/// What a process leaves whose run answers the first question, with the answer as a client gives it.
class LeftAnswer : public Left {
public:
    explicit LeftAnswer(bool is_named) : Left(makeAsking()) {
        app.invoke(sg::Update<sg::JsonState>::of({{"name", "x"}}), {.thread_id = thread});
        question = questions().at(0).id.toString();
        answer = run("x");
        json::value resume = "yes";
        if (is_named) resume = json::object{{question, "yes"}};
        answer.kwargs = {{"command", {{"resume", resume}}}, {"stream_mode", json::array{"values"}}};
        answer.questions = {question};
        records.store(sg::langgraph::ApiRecords::Batch().put(answer));
    }
    std::vector<sg::Interrupt> questions() const { return app.getState({.thread_id = thread}).interrupts(); }
    /// Has the next process settle the run, and returns the question that is open then.
    std::string questionAfter() const {
        const Served served(app, {}, store);
        (void)served.join(thread, answer.run_id);
        CHECK(served.get("/threads/" + thread + "/runs/" + answer.run_id).at("status") == "success");
        const auto open = questions();
        CHECK(open.size() == 1);
        return open.empty() ? std::string() : open.front().value.as<std::string>();
    }

    std::string question;
    sg::langgraph::RunRecord answer;
};

}  // namespace

TEST_CASE("an answer that a process has given before it died is not given to the next question") {
    for (const bool is_named : {false, true}) {
        CAPTURE(is_named);
        const LeftAnswer given(is_named);
        (void)given.app.submit(sg::Command<>{.resume = "yes"}, {.thread_id = given.thread});
        CHECK(given.questionAfter() == "two?");
        const LeftAnswer asked_again(is_named);
        asked_again.app.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = asked_again.thread});
        CHECK(asked_again.questionAfter() == "two?");
        const LeftAnswer not_given(is_named);
        CHECK(not_given.questionAfter() == "two?");
    }
}
