#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>

#include "tests/run/controlled.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// Runs that are ended from outside: stopped, drained, or out of time.
using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;
using namespace controlled;

TEST_CASE("a stopped run ends with what is committed, and a node that looks at its token ends with it") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        auto control = std::make_shared<sg::RunControl>();
        std::latch begun(1);
        std::atomic<bool> saw{false};
        Graph graph;
        graph.addNode("a", appends("a")).addNode("b", [&](const State&, sg::Runtime& rt) -> Update {
            begun.count_down();
            while (!rt.stopRequested()) std::this_thread::yield();
            saw = true;
            return bar("late");
        });
        graph.addSequence("first", appends("first"))
            .addEdge(sg::START, "first")
            .addEdge("first", "a")
            .addEdge("a", "b");
        const auto app = graph.compile({.checkpointer = saver});
        std::jthread stopper([&] {
            begun.wait();
            control->requestStop();
        });
        const auto result = app.invoke({}, with(control));
        CHECK((result.status == Status::cancelled));
        CHECK(result.values.bar == Strings{"first", "a"});
        CHECK((reasonOf(saver) == Status::cancelled));
        CHECK(app.recover().empty());  // recover() does not continue a cancelled thread
        CHECK(app.getState(thread_t).next == Strings{"b"});
        patience::until([&]() -> bool { return saw; });
    });
}

TEST_CASE("a node that ignores its token is abandoned, and its late results are discarded") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        auto control = std::make_shared<sg::RunControl>();
        auto gate = std::make_shared<Gate>();
        auto refused = std::make_shared<std::atomic<int>>(0);
        auto stubborn = std::make_shared<std::atomic<bool>>(true);
        Graph graph;
        graph.addNode("a", [=](const State& state, sg::Runtime& rt) -> Update {
            if (!*stubborn) return bar("again");
            gate->wait();
            const std::size_t seen = state.bar.size();  // what the node reads still exists
            try {
                rt.once("effect", [] {});
            } catch (const sg::CancelledError&) {
                ++*refused;
            }
            try {
                rt.write(sg::Value("late"));
            } catch (const sg::CancelledError&) {
                ++*refused;
            }
            (void)rt.node();
            (void)rt.threadId();
            (void)rt.taskId();
            return bar("late" + std::to_string(seen));
        });
        graph.addEdge(sg::START, "a");
        {
            const auto app = graph.compile({.checkpointer = saver});
            std::jthread stopper([&] {
                gate->awaitSomebody();
                control->requestStop();
            });
            const auto result = app.invoke(bar("in"), with(control));
            CHECK((result.status == Status::cancelled));
            CHECK(result.values.bar == Strings{"in"});
            *stubborn = false;
            CHECK(app.invoke(sg::RESUME, thread_t).values.bar == Strings{"in", "again"});
        }
        gate->open();
        gate->awaitLeft();
        patience::until([&] { return *refused >= 2; });
        CHECK(graph.compile({.checkpointer = saver}).getState(thread_t).values.bar == Strings{"in", "again"});
    });
}

TEST_CASE("stopping reaches parallel tasks, subgraphs and waits between attempts; finished siblings are kept") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        auto control = std::make_shared<sg::RunControl>();
        // Shared with attempts that are abandoned, and may end after this.
        const auto log = std::make_shared<Log>();
        const auto busy = std::make_shared<std::latch>(3);
        const auto waits = [&](const char* name) {
            return [busy, name](const State&, sg::Runtime& rt) -> Update {
                busy->count_down();
                rt.waitFor(1h);
                return bar(name);
            };
        };
        Graph inner;
        inner.addNode("x", waits("x")).addEdge(sg::START, "x");
        Graph graph;
        graph
            .addNode("quick",
                     [log](const State&) -> Update {
                         log->add("quick");
                         return bar("quick");
                     })
            .addNode("waits", waits("waits"))
            .addNode("sub", inner.compile())
            .addNode("fails",
                     [log, busy](const State&) -> Update {
                         log->add("fails");
                         if (log->count("fails") == 1) busy->count_down();
                         throw std::runtime_error("broken");
                     },
                     {.retry = {.max_attempts = 5, .initial_interval = 1h, .max_interval = 1h}});
        for (const char* name : {"quick", "waits", "sub", "fails"}) graph.addEdge(sg::START, name);
        const auto app = graph.compile({.checkpointer = saver});
        std::jthread stopper([&] {
            busy->wait();
            patience::eventually([&] { return log->count("quick") != 0; });
            control->requestStop();
        });
        const auto result = app.invoke({}, with(control));
        CHECK((result.status == Status::cancelled));
        CHECK(log->take() != Strings{});
        CHECK((reasonOf(saver) == Status::cancelled));
        for (const auto& task : app.getState(thread_t).tasks) CHECK_FALSE(task.error);
    });
}

TEST_CASE("a stop that ends a task ends the run, also beside a question, which stays open") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const bool is_inside : {false, true}) {
            CAPTURE(driver.name);
            CAPTURE(is_inside);
            auto control = std::make_shared<sg::RunControl>();
            Log log;
            std::latch begun(1);
            std::atomic<bool> is_resumed = false;
            Graph graph;
            graph.addNode("ask", asks(log, "ask")).addNode("busy", [&](const State&, sg::Runtime& rt) -> Update {
                if (is_resumed) return bar("busy");
                begun.count_down();
                while (!rt.stopRequested()) std::this_thread::yield();
                return bar("late");
            });
            graph.addEdge(sg::START, "ask").addEdge(sg::START, "busy");
            Graph outer;
            outer.addNode("inner", graph.compile()).addEdge(sg::START, "inner");
            const auto saver = std::make_shared<sg::MemorySaver>();
            const App app = (is_inside ? outer : graph).compile({.checkpointer = saver});
            std::jthread stopper([&] {
                begun.wait();
                patience::until([&] { return log.count("ask") > 0; });
                std::this_thread::sleep_for(20ms);  // sleeps: so that the question is mostly asked before the stop
                control->requestStop();
            });
            const auto result = driver.run(app, Update{}, with(control));
            REQUIRE(result.what() == "");
            CHECK((result.status == Status::cancelled));
            CHECK((reasonOf(saver) == Status::cancelled));
            CHECK(app.recover().empty());
            is_resumed = true;
            const auto resumed = app.invoke(sg::RESUME, thread_t);
            REQUIRE((resumed.status == Status::interrupted));
            REQUIRE(resumed.interrupts.size() == 1);
            sg::Command<> answer;
            answer.answers.push_back({resumed.interrupts[0].id, sg::Value(std::string("yes"))});
            CHECK((app.invoke(answer, thread_t).status == Status::done));
        }
    }
}

TEST_CASE("a drained run ends after the superstep under way, and recover drives it on") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        auto control = std::make_shared<sg::RunControl>();
        Graph graph;
        graph
            .addNode("a",
                     [&](const State&, sg::Runtime& rt) -> Update {
                         control->requestDrain("deploy");
                         CHECK(rt.drainRequested());
                         CHECK_FALSE(rt.stopRequested());
                         return bar("a");
                     })
            .addNode("b", appends("b"));
        graph.addEdge(sg::START, "a").addEdge("a", "b");
        const auto app = graph.compile({.checkpointer = saver});
        const auto result = app.invoke({}, with(control));
        CHECK((result.status == Status::drained));
        CHECK(control->drainReason() == "deploy");
        CHECK(result.values.bar == Strings{"a"});
        CHECK((reasonOf(saver) == Status::in_flight));
        const auto report = app.recover();
        REQUIRE(report.size() == 1);
        CHECK((report.front().status == Status::done));
        CHECK(app.getState(thread_t).values.bar == Strings{"a", "b"});
    });
}

TEST_CASE("a run with nothing left to do is done, not drained") {
    auto control = std::make_shared<sg::RunControl>();
    Graph graph;
    graph.addNode("a", [&](const State&) -> Update {
        control->requestDrain();
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    CHECK((graph.compile().invoke({}, with(control)).status == Status::done));
}

TEST_CASE("a control that was used already ends a run before its first node; input is kept") {
    auto saver = std::make_shared<sg::MemorySaver>();
    auto control = std::make_shared<sg::RunControl>();
    control->requestStop();
    Log log;
    Graph graph;
    graph.addNode("a", appends(log, "a")).addEdge(sg::START, "a");
    const auto app = graph.compile({.checkpointer = saver});
    CHECK((app.invoke(bar("in"), with(control)).status == Status::cancelled));
    CHECK(log.take().empty());
    CHECK(app.invoke(sg::RESUME, thread_t).values.bar == Strings{"in", "a"});
}

TEST_CASE("a control follows another token") {
    std::stop_source outer;
    auto control = std::make_shared<sg::RunControl>(outer.get_token());
    CHECK_FALSE(control->stopRequested());
    outer.request_stop();
    CHECK(control->stopRequested());
}

TEST_CASE("an interrupt, a Send and an exception go through an attempt of its own as through any") {
    auto saver = std::make_shared<sg::MemorySaver>();
    auto control = std::make_shared<sg::RunControl>();
    Log log;
    Graph graph;
    graph.addNode("asks", asks(log, "asks"));
    graph.addNode("item", [](const std::string& item) -> Update { return bar("item " + item); });
    graph.addEdge(sg::START, "asks");
    graph.addConditionalEdges("asks", [](const State&) {
        return std::vector{sg::Send("item", std::string("1")), sg::Send("item", std::string("2"))};
    });
    const auto app = graph.compile({.checkpointer = saver});
    CHECK((app.invoke({}, with(control)).status == Status::interrupted));
    const auto result = app.invoke(sg::Command<>{.resume = "yes"}, with(control));
    CHECK(result.values.bar == Strings{"asks:yes", "item 1", "item 2"});

    Graph broken;
    broken.addNode("a", [](const State&) -> Update { throw std::runtime_error("broken"); }).addEdge(sg::START, "a");
    CHECK_THROWS_WITH_AS(broken.compile().invoke({}, with(control)), doctest::Contains("broken"), sg::NodeError);
}

namespace {

/// Runs a node whose error handler ignores its token until the run has ended, at `limit` or, without one, when it is
/// stopped; then resumes the run. Returns false if the limit came before the handler was called.
bool abandonsHandler(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, const std::string& thread, bool beside,
                     std::optional<std::chrono::milliseconds> limit) {
    auto control = std::make_shared<sg::RunControl>();
    auto gate = std::make_shared<Gate>();
    auto stubborn = std::make_shared<std::atomic<bool>>(true);
    auto refused = std::make_shared<std::atomic<int>>(0);
    auto begun = std::make_shared<std::atomic<bool>>(false);
    auto log = std::make_shared<Log>();  // an attempt of the node that was abandoned may be late
    Graph graph;
    graph.addNode("a", [log](const State&) -> Update {
        log->add("a");
        throw std::runtime_error("broken");
    });
    graph.addEdge(sg::START, "a");
    if (beside) graph.addNode("b", appends("b")).addEdge(sg::START, "b");
    graph.onError("a", [=](const State& state, const sg::NodeFailure& failure, sg::Runtime& rt) -> Update {
        if (!*stubborn) return bar(failure.error + std::to_string(state.bar.size()));
        *begun = true;
        gate->wait();
        CHECK(failure.error == "broken");  // the error still exists
        CHECK(state.bar == Strings{"in"});
        try {
            rt.write(sg::Value("late"));
        } catch (const sg::CancelledError&) {
            ++*refused;
        }
        return bar("late");
    });
    {
        const auto app = graph.compile({.checkpointer = saver});
        sg::RunConfig config = with(control, thread);
        config.timeout = limit;
        std::jthread stopper([&] {
            if (limit) return;
            gate->awaitSomebody();
            control->requestStop();
        });
        const auto result = app.invoke(bar("in"), config);
        CHECK((result.status == (limit ? Status::timed_out : Status::cancelled)));
        if (!*begun) {
            gate->open();
            return false;
        }
        *stubborn = false;
        const auto done = app.invoke(sg::RESUME, sg::Config{.thread_id = thread});
        CHECK(done.values.bar == (beside ? Strings{"in", "broken1", "b"} : Strings{"in", "broken1"}));
        CHECK(log->take() == Strings{"a"});
    }
    gate->open();
    patience::until([&] { return *refused >= 1; });
    return true;
}

}  // namespace

TEST_CASE(
    "an error handler that ignores its token is abandoned with its run, and RESUME calls it again, and not the node") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        for (const bool beside : {false, true}) {
            const std::string thread = beside ? "beside" : "alone";
            CHECK(abandonsHandler(saver, thread + " stopped", beside, {}));
            CHECK(withEnoughTime(100ms, [&](std::chrono::milliseconds limit) {
                return abandonsHandler(saver, thread + std::to_string(limit.count()), beside, limit);
            }));
        }
    });
}

TEST_CASE(
    "in a run that can be stopped an error handler does all that handlers do, and its node's limits are not its own") {
    auto saver = std::make_shared<sg::MemorySaver>();
    auto control = std::make_shared<sg::RunControl>();
    Graph graph;
    graph.addNode("a",
                  [](const State&, sg::Runtime& rt) -> Update {
                      rt.waitFor(1h);
                      return {};
                  },
                  {.timeout = 20ms});
    graph.addNode("item", [](const std::string& item) -> Update { throw std::runtime_error("no " + item); });
    graph.addNode("fails", [](const State&) -> Update { throw std::runtime_error("broken"); });
    graph.addEdge(sg::START, "a");
    graph.onError(
        "a",
        [](const State&, const sg::NodeFailure&, sg::Runtime& rt) -> Command {
            rt.waitFor(60ms);
            const auto answer = sg::interrupt<std::string>(rt, "what now?");
            return {.update = bar(answer), .go_to = {sg::Send("item", std::string("1")), sg::Target("fails")}};
        },
        {"item", "fails"});
    graph.onError("item", [](const std::string& item, const sg::NodeFailure& failure) -> Update {
        return bar(failure.error + " of " + item);
    });
    graph.onError("fails", [](const State&, const sg::NodeFailure&) -> Update { throw std::runtime_error("worse"); });
    const auto app = graph.compile({.checkpointer = saver});
    CHECK((app.invoke({}, with(control)).status == Status::interrupted));
    CHECK_THROWS_WITH_AS(app.invoke(sg::Command<>{.resume = "go"}, with(control)), doctest::Contains("worse"),
                         sg::NodeError);
    const auto state = app.getState(thread_t);
    // The results of the tasks of the failed superstep that finished.
    CHECK(state.values.bar == Strings{"go", "no 1 of 1"});
    for (const auto& task : state.tasks) CHECK(task.finished == (task.name == "item"));
}

TEST_CASE("a control of one run of many follows theirs, and not the other way round") {
    auto all = std::make_shared<sg::RunControl>();
    sg::RunControl one(all);
    sg::RunControl drained(all);
    drained.requestDrain("alone");
    all->requestDrain("deploy");
    CHECK(one.drainRequested());
    CHECK(one.drainReason() == "deploy");
    CHECK(drained.drainReason() == "alone");
    one.requestStop();
    CHECK_FALSE(all->stopRequested());
    CHECK_FALSE(drained.stopRequested());
    all->requestStop();
    CHECK(drained.stopRequested());
    CHECK_FALSE(sg::RunControl(std::shared_ptr<const sg::RunControl>()).stopRequested());
}
