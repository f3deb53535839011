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
#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

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
    /// The same on a thread of its own.
    sg::langgraph::RunRecord runElsewhere(sg::langgraph::RunRecord run) const {
        run.run_id = sg::langgraph::newId();
        run.thread_id = sg::langgraph::newId();
        sg::langgraph::ApiRecords::Batch batch;
        batch.put(sg::langgraph::ThreadRecord{.thread_id = run.thread_id, .metadata = {{"graph_id", "app"}}}).put(run);
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

/// A graph whose node asks two questions, one after the other, and between them waits for a gate, if it has one.
App makeAsking(std::shared_ptr<gates::Gate> gate = {}) {
    sg::JsonSchema schema;
    schema.channel("log", sg::JsonReducer::append()).channel("name");
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("ask", [gate](const sg::JsonState&, sg::Runtime& runtime) -> sg::Update<sg::JsonState> {
        const std::string one = sg::interrupt<std::string>(runtime, "one?");
        if (gate) (void)gate->wait();
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

TEST_CASE("runs that a process has left wait until the server has a place for them") {
    Left left;
    const auto run = left.run("x");
    const auto more = left.runElsewhere(run);
    const auto gate = std::make_shared<gates::Gate>();
    const Served served(makeApp(std::make_shared<sg::MemorySaver>(), gate), {.runs_max = 1}, left.store);
    const auto status = [&](const sg::langgraph::RunRecord& of) {
        return Served::textOf(served.get("/threads/" + of.thread_id + "/runs/" + of.run_id), "status");
    };
    CHECK(status(run) == "running");
    CHECK(status(more) == "pending");
    const client::Response refused = served.ask("POST", "/runs", R"({"assistant_id": "app", "input": {"name": "y"}})");
    CHECK(refused.status == 503);
    CHECK(refused.headers.at("retry-after") == "1");
    gate->open();
    CHECK(json::serialize(served.join(more.thread_id, more.run_id).at("log")) == R"(["first x","work x"])");
    CHECK(status(run) == "success");
    CHECK(status(more) == "success");
}

TEST_CASE("a run that answers a question notes which one, before the answer is given") {
    const auto gate = std::make_shared<gates::Gate>();
    const App app = makeAsking(gate);
    const Served served(app);
    const std::string thread = served.newThread();
    const std::string runs = "/threads/" + thread + "/runs";
    (void)served.ask("POST", runs + "/wait", R"({"assistant_id": "app", "input": {"name": "x"}})");
    const std::string question = app.getState({.thread_id = thread}).interrupts().at(0).id.toString();
    const std::string run = Served::textOf(
        json::parse(served.ask("POST", runs, R"({"assistant_id": "app", "command": {"resume": "yes"}})").body),
        "run_id");
    const sg::langgraph::ApiRecords records(served.store);
    patience::until([&] { return app.getState({.thread_id = thread}).interrupts().empty(); });
    CHECK(records.run(thread, run)->questions == std::vector{question});
    gate->open();
    (void)served.join(thread, run);
}

TEST_CASE("a thread that a process was about to delete with its run is deleted by the next one") {
    Left left;
    auto run = left.run("x");
    left.app.invoke(sg::Update<sg::JsonState>::of({{"name", "x"}}), left.config(run));
    run.status = "success";
    run.is_temporary = true;
    run.keeps_thread = false;
    left.records.store(sg::langgraph::ApiRecords::Batch().put(run));
    const Served served(left.app, {}, left.store);
    CHECK(left.app.getState({.thread_id = left.thread}).config.checkpoint_id.empty());
    CHECK_FALSE(left.records.thread(left.thread));
    CHECK_FALSE(left.records.run(left.thread, run.run_id));
    CHECK(left.records.openRuns().empty());
}

TEST_CASE("a run is not deleted with the log on which another one is to begin") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Left left(makeApp(saver));
    auto ended = left.run("x");
    left.app.invoke(sg::Update<sg::JsonState>::of({{"name", "x"}}), left.config(ended));
    (void)left.runElsewhere(ended);  // has the only place until the gate opens
    ended.status = "success";
    left.records.store(sg::langgraph::ApiRecords::Batch().put(ended));
    const auto waiting = left.run("y");
    const auto gate = std::make_shared<gates::Gate>();
    const Served served(makeApp(saver, gate), {.runs_max = 1}, left.store);
    const std::string runs = "/threads/" + left.thread + "/runs/";
    CHECK(served.ask("DELETE", runs + ended.run_id).status == 409);
    gate->open();
    CHECK(json::serialize(served.join(left.thread, waiting.run_id).at("log")) ==
          R"(["first x","work x","first y","work y"])");
    CHECK(served.ask("DELETE", runs + ended.run_id).status == 204);
}

TEST_CASE("a run that has answered one of two questions before its process died does what the answer asks for") {
    sg::JsonSchema schema;
    schema.channel("log", sg::JsonReducer::append()).channel("name");
    sg::StateGraph<sg::JsonState> graph(schema);
    int answered = 0;
    for (const char* const node : {"a", "b"}) {
        graph.addNode(node, [&answered, node](const sg::JsonState&, sg::Runtime& runtime) -> sg::Update<sg::JsonState> {
            const auto said = sg::interrupt<std::string>(runtime, node);
            if (said == "yes") ++answered;
            return {sg::write("log", node + said)};
        });
        graph.addEdge(sg::START, node).addEdge(node, sg::END);
    }
    Left left(graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()}));
    left.app.invoke(sg::Update<sg::JsonState>::of({{"name", "x"}}), {.thread_id = left.thread});
    const auto question = left.app.getState({.thread_id = left.thread}).interrupts().at(0).id;
    auto run = left.run("x");
    run.kwargs = {{"command", {{"resume", {{question.toString(), "yes"}}}}}, {"stream_mode", json::array{"values"}}};
    run.questions = {question.toString()};
    left.records.store(sg::langgraph::ApiRecords::Batch().put(run));
    (void)left.app.submit(sg::Command<>{.answers = {{question, "yes"}}}, {.thread_id = left.thread});
    const Served served(left.app, {}, left.store);
    (void)served.join(left.thread, run.run_id);
    CHECK(answered == 1);
    CHECK(left.app.getState({.thread_id = left.thread}).interrupts().size() == 1);
}
