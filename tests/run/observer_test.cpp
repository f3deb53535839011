#include <chrono>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/observer.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// What observers receive, and that they cannot disturb a run.
using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;

namespace {

/// Records what it receives, as texts.
class Notes final : public sg::Observer {
public:
    void runStarts(const sg::RunStart& start) override {
        note((start.run.parent_run_id != 0 ? "inner " : "") + std::string("run of ") +
             std::string(start.run.thread_id));
    }
    void runEnds(const sg::RunEnd& end) override {
        CHECK(end.duration >= 0ns);
        note((end.run.parent_run_id != 0 ? "inner " : "") + std::string("run ") + toString(end.ending) + " after " +
             std::to_string(end.supersteps) + text(end.error));
    }
    void superstepStarts(const sg::SuperstepStart& start) override {
        note("step " + std::to_string(start.step) + ": " + std::to_string(start.tasks) + " tasks, " +
             std::to_string(start.restored) + " restored");
    }
    void superstepEnds(const sg::SuperstepEnd& end) override {
        CHECK(end.duration >= 0ns);
        note("step " + std::to_string(end.step) + " " + toString(end.ending));
    }
    void taskStarts(const sg::TaskStart& start) override {
        note(std::string(start.node) + " " + std::to_string(start.attempt));
    }
    void taskEnds(const sg::TaskEnd& end) override {
        CHECK(end.duration >= 0ns);
        CHECK(!end.task_id.empty());
        note(std::string(end.node) + " " + std::to_string(end.attempt) + " " + toString(end.ending) + text(end.error));
    }
    void taskRetries(const sg::TaskRetry& retry) override {
        note(std::string(retry.node) + " waits " + std::to_string(static_cast<int>(retry.wait.count())));
    }
    void checkpointStored(const sg::CheckpointStored& stored) override {
        CHECK(stored.bytes > 0);
        CHECK(stored.duration >= 0ns);
        CHECK(!stored.id.empty());
        note("checkpoint " + std::to_string(stored.step));
    }
    void interruptRaised(const sg::InterruptRaised& raised) override {
        note(std::string(raised.node) + " asks " + raised.interrupt.value.toJson());
    }

    Strings take() { return notes_.take(); }

private:
    static std::string text(std::string_view error) { return error.empty() ? "" : ": " + std::string(error); }
    void note(std::string text) { notes_.add(std::move(text)); }
    Log notes_;
};

class Throws final : public sg::Observer {
    void runStarts(const sg::RunStart&) override { throw std::runtime_error("no"); }
    void runEnds(const sg::RunEnd&) override { throw 7; }
    void superstepStarts(const sg::SuperstepStart&) override { throw std::runtime_error("no"); }
    void superstepEnds(const sg::SuperstepEnd&) override { throw std::runtime_error("no"); }
    void taskStarts(const sg::TaskStart&) override { throw std::runtime_error("no"); }
    void taskEnds(const sg::TaskEnd&) override { throw std::runtime_error("no"); }
    void checkpointStored(const sg::CheckpointStored&) override { throw std::runtime_error("no"); }
};

App oneNode(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, std::shared_ptr<sg::Observer> observer = {}) {
    Graph graph;
    graph.addNode("a", appends("a")).addEdge(sg::START, "a");
    return graph.compile({.checkpointer = saver, .observer = std::move(observer)});
}

}  // namespace

TEST_CASE("an observer is notified of the run, its supersteps, tasks and checkpoints, in order") {
    savers::onEach([](savers::Store& store) {
        Notes notes;
        oneNode(store.open()).invoke(bar("i"), {.thread_id = "t", .observer = &notes});
        CHECK(notes.take() == Strings{"run of t", "checkpoint -1", "step 0: 1 tasks, 0 restored", "__start__ 1",
                                      "__start__ 1 done", "checkpoint 0", "step 0 done", "step 1: 1 tasks, 0 restored",
                                      "a 1", "a 1 done", "checkpoint 1", "step 1 done", "run done after 1"});
        CHECK(notes.failures() == 0);
    });
}

TEST_CASE("the graph's observer and the run's are both notified, one that is both once") {
    const auto graphs = std::make_shared<Notes>();
    Notes runs;
    const App app = oneNode(nullptr, graphs);
    app.invoke(bar("i"), {.observer = &runs});
    CHECK(graphs->take() == runs.take());
    app.invoke(bar("i"), {.observer = graphs.get()});
    CHECK(graphs->take().size() == 10);
}

TEST_CASE("retries, failures and interrupts are reported") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode("bad",
                      [](const State& state, sg::Runtime& runtime) -> Update {
                          if (state.foo == "ask")
                              return {sg::set(&State::foo, sg::interrupt<std::string>(runtime, "which?"))};
                          throw std::runtime_error("broken");
                      },
                      {.retry = {.max_attempts = 2, .initial_interval = 1ms, .jitter = false}});
        graph.addEdge(sg::START, "bad");
        const App app = graph.compile({.checkpointer = store.open()});
        Notes notes;
        CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t", .observer = &notes}), sg::NodeError);
        Strings told = notes.take();
        CHECK(Strings(told.begin() + 7, told.end()) == Strings{"step 1: 1 tasks, 0 restored", "bad 1",
                                                               "bad 1 retried: broken", "bad waits 1", "bad 2",
                                                               "bad 2 failed: broken", "step 1 failed", told.back()});
        CHECK(told.back().starts_with("run failed after 1: node 'bad' failed: broken"));
        app.invoke({sg::set(&State::foo, std::string("ask"))}, {.thread_id = "u", .observer = &notes});
        told = notes.take();
        CHECK(Strings(told.begin() + 8, told.end()) == Strings{"bad 1", "bad asks \"which?\"", "bad 1 interrupted",
                                                               "step 1 interrupted", "run interrupted after 1"});
        app.invoke(Command{.resume = "x"}, {.thread_id = "u", .observer = &notes});
        CHECK(notes.take() == Strings{"run of u", "step 1: 1 tasks, 0 restored", "bad 1", "bad 1 done", "checkpoint 1",
                                      "step 1 done", "run done after 1"});
    });
}

TEST_CASE("a subgraph's run is reported inside the task's") {
    Graph plain;
    plain.addNode("x", appends("x")).addEdge(sg::START, "x");
    Graph graph;
    graph.addNode("sub", plain.compile()).addEdge(sg::START, "sub");
    Notes notes;
    graph.compile().invoke(bar("i"), {.thread_id = "t", .observer = &notes});
    CHECK(notes.take() == Strings{"run of t",
                                  "step 0: 1 tasks, 0 restored",
                                  "__start__ 1",
                                  "__start__ 1 done",
                                  "step 0 done",
                                  "step 1: 1 tasks, 0 restored",
                                  "sub 1",
                                  "inner run of t",
                                  "step 0: 1 tasks, 0 restored",
                                  "__start__ 1",
                                  "__start__ 1 done",
                                  "step 0 done",
                                  "step 1: 1 tasks, 0 restored",
                                  "x 1",
                                  "x 1 done",
                                  "step 1 done",
                                  "inner run done after 1",
                                  "sub 1 done",
                                  "step 1 done",
                                  "run done after 1"});
}

TEST_CASE(
    "with durability exit one checkpoint is reported, also of a run that fails; a run that nobody continues is left") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Notes notes;
        const App app = oneNode(saver);
        app.invoke(bar("i"), {.thread_id = "t", .durability = sg::Durability::exit, .observer = &notes});
        const Strings told = notes.take();
        CHECK(std::count_if(told.begin(), told.end(),
                            [](const std::string& note) { return note.starts_with("checkpoint"); }) == 1);
        CHECK(told[told.size() - 2] == "checkpoint 1");
        {
            auto stream =
                app.stream(bar("i"), {.thread_id = "u", .observer = &notes}, {.modes = sg::StreamMode::values});
            (void)stream.begin();
        }
        CHECK(notes.take().back() == "run left after 0");
        Graph graph;
        graph.addNode("a", appends("a")).addEdge(sg::START, "a").addEdge("a", "b");
        graph.addNode("b", [](const State&) -> Update { throw std::runtime_error("broken"); });
        CHECK_THROWS_AS(
            graph.compile({.checkpointer = saver})
                .invoke(bar("i"), {.thread_id = "v", .durability = sg::Durability::exit, .observer = &notes}),
            sg::NodeError);
        const Strings failed = notes.take();
        CHECK(failed[failed.size() - 3] == "checkpoint 1");
        CHECK(failed[failed.size() - 2] == "step 2 failed");
        CHECK(failed.back().starts_with("run failed"));
    });
}

TEST_CASE("a run that its time limit ends, or that sleeps, is reported so") {
    Graph graph;
    graph.addNode("a", [](const State& state, sg::Runtime& runtime) -> Update {
        if (state.foo == "sleep") runtime.sleepUntil(std::chrono::system_clock::time_point(4'000'000'000s), "long");
        runtime.waitFor(10min);
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    Notes notes;
    app.invoke(bar("i"), {.thread_id = "t", .observer = &notes, .timeout = 30ms});
    CHECK(notes.take().back().starts_with("run timed_out"));
    app.invoke({sg::set(&State::foo, std::string("sleep"))}, {.thread_id = "u", .observer = &notes});
    const Strings told = notes.take();
    CHECK(Strings(told.end() - 3, told.end()) == Strings{"a 1 sleeping", "step 1 sleeping", "run sleeping after 1"});
}

TEST_CASE("a run that is refused at its beginning is reported as failed") {
    Notes notes;
    const App app = oneNode(std::make_shared<sg::MemorySaver>());
    CHECK_THROWS_AS(app.invoke(sg::RESUME, {.thread_id = "t", .observer = &notes}), sg::EmptyInputError);
    const Strings told = notes.take();
    REQUIRE(told.size() == 2);
    CHECK(told[1].starts_with("run failed after 0: there is nothing to resume"));
}

TEST_CASE("a run that does not get its turn on its thread is reported as failed, in every driver") {
    const App app = oneNode(std::make_shared<sg::MemorySaver>());
    auto holder = app.stream(bar("i"), {.thread_id = "t"}, {.modes = {sg::StreamMode::updates}});
    REQUIRE(holder.begin() != holder.end());
    for (const drivers::Driver& driver : drivers::crossed()) {
        for (const sg::OnBusy on_busy : {sg::OnBusy::reject, sg::OnBusy::wait, sg::OnBusy::replace}) {
            CAPTURE(driver.name);
            CAPTURE(static_cast<int>(on_busy));
            Notes notes;
            const sg::RunConfig config{.thread_id = "t", .on_busy = on_busy, .busy_timeout = 0ms, .observer = &notes};
            const auto outcome = driver.run(app, bar("i"), config);
            CHECK(outcome.as<sg::ThreadBusyError>() != nullptr);
            CHECK(outcome.events.empty());
            const Strings told = notes.take();
            REQUIRE(told.size() == 2);
            CHECK(told[0] == "run of t");
            CHECK(told[1].starts_with("run failed after 0: another run is under way on the thread"));
        }
    }
}

TEST_CASE("an observer that throws does no harm, and is counted") {
    Throws throws;
    const auto result =
        oneNode(std::make_shared<sg::MemorySaver>()).invoke(bar("i"), {.thread_id = "t", .observer = &throws});
    CHECK(result.values.bar == Strings{"i", "a"});
    CHECK(throws.failures() == 13);
}

TEST_CASE("tasks that run at once are reported from their threads") {
    Graph graph;
    Strings names;
    for (int i = 0; i < 20; ++i) {
        names.push_back("n" + std::to_string(i));
        graph.addNode(names.back(), appends("x")).addEdge(sg::START, names.back());
    }
    Notes notes;
    graph.compile().invoke(bar("i"), {.observer = &notes});
    CHECK(notes.take().size() == 2 + 4 + 2 + 40);
}

TEST_CASE("a handled failure is one end of the attempt that failed, and no success besides, in every driver") {
    Graph graph;
    graph.addNode("x", [](const State&) -> Update { throw std::runtime_error("no"); },
                  {.retry = {.max_attempts = 2, .initial_interval = 0.1ms, .jitter = false}});
    graph.addEdge(sg::START, "x");
    Graph asks = graph;
    graph.onError("x", [](const State&, const sg::NodeFailure&) -> Update { return bar("handled"); });
    asks.onError("x", [](const State&, const sg::NodeFailure&, sg::Runtime& runtime) -> Update {
        return bar(sg::interrupt<std::string>(runtime, "?"));
    });
    const auto ofNode = [](const Strings& all) {
        Strings found;
        for (const std::string& each : all) {
            if (each.starts_with("x ") && each.find("waits") == std::string::npos) found.push_back(each);
        }
        return found;
    };
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        Notes notes;
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        CHECK(driver.run(app, Update{}, {.thread_id = "t", .observer = &notes}).values.bar == Strings{"handled"});
        CHECK(ofNode(notes.take()) == Strings{"x 1", "x 1 retried: no", "x 2", "x 2 handled: no"});
        const App asking = asks.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        CHECK((driver.run(asking, Update{}, {.thread_id = "t", .observer = &notes}).status == sg::Status::interrupted));
        const Strings asked = ofNode(notes.take());
        REQUIRE(asked.size() >= 4);
        CHECK(Strings(asked.begin(), asked.begin() + 3) == Strings{"x 1", "x 1 retried: no", "x 2"});
        CHECK(asked.back() == "x 2 interrupted");
        // Only the handler is called again, as an attempt of its own.
        CHECK(driver.run(asking, sg::Command<>{.resume = "A"}, {.thread_id = "t", .observer = &notes}).values.bar ==
              Strings{"A"});
        CHECK(ofNode(notes.take()) == Strings{"x 1", "x 1 handled: no"});
    }
}
