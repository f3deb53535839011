// SECONDS: 50
#include <atomic>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/run/graph_calls.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Calls of graphs that fail, are stopped, or are abandoned.
using namespace graphs;
using namespace std::chrono_literals;
using namespace graph_calls;

TEST_CASE(
    "whichever call of the saver fails, the thread continues to the same end, and nothing that has ended runs again") {
    bool is_first_store = true;  // the other stores run only some of the cases, as they are slow
    savers::onEach([&](savers::Store& store) {
        const bool all = std::exchange(is_first_store, false);
        const auto faults = std::make_shared<sg::testing::FaultSaver>(store.open());
        for (const bool awaited : {false, true}) {
            for (const sg::Durability durability :
                 {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
                for (const bool after : {false, true}) {
                    if (!all && (durability != sg::Durability::async || after)) continue;
                    bool failed = true;
                    for (std::size_t nth = 1; failed && nth < 100; ++nth) {
                        CAPTURE(awaited);
                        CAPTURE(nth);
                        CAPTURE(after);
                        CAPTURE(static_cast<int>(durability));
                        Log log;
                        const App app =
                            caller(worker(log, Asks::yes), {"a", "b"}, awaited).compile({.checkpointer = faults});
                        const drivers::Driver& driver = drivers::all()[nth % drivers::all().size()];
                        CAPTURE(driver.name);
                        const sg::RunConfig config{.thread_id = std::to_string(nth) + (awaited ? "a" : "b") +
                                                                (after ? "a" : "b") +
                                                                std::to_string(static_cast<int>(durability)),
                                                   .durability = durability};
                        faults->arm({.fail_at = nth, .after_effect = after});
                        auto outcome = driver.run(app, Update{}, config);
                        for (int i = 0; i < 20 && (outcome.failed() || outcome.status != sg::Status::done); ++i) {
                            faults->failures() > 0 ? faults->disarm() : (void)0;
                            if (!outcome.failed() && !outcome.interrupts.empty()) {
                                outcome = driver.run(app, sg::Command<>{.answers = {{outcome.interrupts.at(0).id, 5}}},
                                                     config);
                                continue;
                            }
                            const auto snapshot = app.getState({.thread_id = config.thread_id});
                            if (!snapshot.config.checkpoint_id) {
                                outcome = driver.run(app, Update{}, config);
                            } else {
                                outcome = driver.run(app, sg::RESUME, config);
                            }
                        }
                        failed = faults->failures() > 0;
                        faults->disarm();
                        CHECK(outcome.what() == "");
                        CHECK(app.getState({.thread_id = config.thread_id}).values.bar == Strings{"a=25", "b=25"});
                        if (!failed) {
                            CHECK(log.count("first a") == 1);
                            CHECK(log.count("second b") == 1);
                        }
                    }
                    CHECK_FALSE(failed);
                }
            }
        }
    });
}

TEST_CASE("a saver that fails below a call fails the run: neither the node's policy nor its error handler is asked") {
    const sg::NodeOptions retried{.retry = {.max_attempts = 3, .initial_interval = 1ms}};
    for (const drivers::Driver& driver : drivers::all()) {
        for (const bool awaited : {false, true}) {
            bool failed = true;
            for (std::size_t nth = 1; failed && nth < 100; ++nth) {
                CAPTURE(driver.name);
                CAPTURE(awaited);
                CAPTURE(nth);
                Log log;
                std::atomic<int> handled = 0;
                Graph graph = caller(worker(log, Asks::no), {"a"}, awaited, retried);
                graph.onError("n", [&](const State&, const sg::NodeFailure&) -> Update {
                    ++handled;
                    return {};
                });
                const auto faults = std::make_shared<sg::testing::FaultSaver>(std::make_shared<sg::MemorySaver>());
                const App app = graph.compile({.checkpointer = faults});
                faults->arm({.fail_at = nth, .calls = sg::testing::SaverCalls::put});
                const sg::RunConfig config{.thread_id = "1"};
                auto outcome = driver.run(app, Update{}, config);
                failed = faults->failures() > 0;
                faults->disarm();
                CHECK(outcome.failed() == failed);
                if (failed) {
                    const bool has_begun = static_cast<bool>(app.getState(config).config.checkpoint_id);
                    outcome = has_begun ? driver.run(app, sg::RESUME, config) : driver.run(app, Update{}, config);
                }
                CHECK(outcome.what() == "");
                CHECK(app.getState(config).values.bar == Strings{"a=21"});
                CHECK(handled == 0);
                CHECK(log.count("first a") <= 2);
            }
            CHECK_FALSE(failed);
        }
    }
}

TEST_CASE("a saver that fails below a call of an error handler fails the run, and RESUME calls the handler again") {
    for (const drivers::Driver& driver : drivers::all()) {
        bool failed = true;
        for (std::size_t nth = 1; failed && nth < 100; ++nth) {
            CAPTURE(driver.name);
            CAPTURE(nth);
            Log log;
            Graph graph;
            graph.addNode("n", [&log](const State&) -> Update {
                log.add("n");
                throw std::runtime_error("broken");
            });
            graph.onError("n",
                          [inner = worker(log, Asks::no)](const State&, const sg::NodeFailure& failure,
                                                          sg::Runtime& rt) -> Update {
                              return bar(failure.error + " " + text(rt.invoke(inner, work("a", 10), "a")));
                          });
            graph.addEdge(sg::START, "n");
            const auto faults = std::make_shared<sg::testing::FaultSaver>(std::make_shared<sg::MemorySaver>());
            const App app = graph.compile({.checkpointer = faults});
            faults->arm({.fail_at = nth, .calls = sg::testing::SaverCalls::put});
            const sg::RunConfig config{.thread_id = "1"};
            auto outcome = driver.run(app, Update{}, config);
            failed = faults->failures() > 0;
            faults->disarm();
            CHECK(outcome.failed() == failed);
            if (failed) {
                CHECK(outcome.what().find("the error handler") == std::string::npos);
                const bool has_begun = static_cast<bool>(app.getState(config).config.checkpoint_id);
                outcome = has_begun ? driver.run(app, sg::RESUME, config) : driver.run(app, Update{}, config);
            }
            CHECK(outcome.what() == "");
            CHECK(app.getState(config).values.bar == Strings{"broken a=21"});
        }
        CHECK_FALSE(failed);
    }
}

TEST_CASE("a run that is abandoned in a call continues there") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        for (const bool awaited : {false, true}) {
            for (const drivers::Driver& driver : drivers::affordable()) {
                if (!driver.canAbandon()) continue;
                for (const std::size_t steps : {1, 2, 3, 5}) {
                    CAPTURE(awaited);
                    CAPTURE(driver.name);
                    CAPTURE(steps);
                    Log log;
                    const App app = caller(worker(log, Asks::no), {"a", "b"}, awaited).compile({.checkpointer = saver});
                    const sg::RunConfig config{.thread_id = driver.name + std::to_string(steps) + (awaited ? "a" : "b"),
                                               .durability = sg::Durability::async};
                    (void)driver.abandon(app, Update{}, config, {.steps = steps});
                    const bool begun =
                        static_cast<bool>(app.getState({.thread_id = config.thread_id}).config.checkpoint_id);
                    const auto done = begun ? drivers::blocking().run(app, sg::RESUME, config)
                                            : drivers::blocking().run(app, Update{}, config);
                    REQUIRE(done.what() == "");
                    CHECK(done.values.bar == Strings{"a=21", "b=21"});
                }
            }
        }
    });
}

TEST_CASE("a stop, a drain and the limits of a node reach the graph that it calls") {
    for (const bool awaited : {false, true}) {
        CAPTURE(awaited);
        const auto log = std::make_shared<Log>();  // an abandoned attempt may end later
        // On the first visit its second step waits until the run is ended.
        const auto make = [&](std::shared_ptr<std::atomic<int>> visits, std::function<void(sg::Runtime&)> wait) {
            sg::StateGraph<Work, Work, WorkResult> graph;
            graph.addNode("first", [log](const Work& given) -> sg::Update<Work> {
                log->add("first");
                return {sg::set(&Work::n, given.n * 2)};
            });
            graph.addNode("second", [visits, wait](const Work& given, sg::Runtime& rt) -> sg::Update<Work> {
                if (visits->fetch_add(1) == 0) wait(rt);
                return {sg::set(&Work::n, given.n + 1)};
            });
            graph.addEdge("first", "second");
            graph.addEdge(sg::START, "first");
            return WorkApp(graph.compile());
        };
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            {
                (void)log->take();
                const auto control = std::make_shared<sg::RunControl>();
                const WorkApp inner = make(std::make_shared<std::atomic<int>>(0), [&](sg::Runtime& rt) {
                    control->requestStop();
                    rt.waitFor(std::chrono::milliseconds(10'000));
                });
                const App app =
                    caller(inner, {"a"}, awaited).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
                const auto stopped = driver.run(app, Update{}, {.thread_id = "1", .control = control});
                REQUIRE(stopped.what() == "");
                CHECK((stopped.status == sg::Status::cancelled));
                CHECK(driver.run(app, sg::RESUME, {.thread_id = "1"}).values.bar == Strings{"a=21"});
                CHECK(log->take() == Strings{"first"});
            }
            {
                (void)log->take();
                const auto control = std::make_shared<sg::RunControl>();
                const WorkApp inner = make(std::make_shared<std::atomic<int>>(1), [](sg::Runtime&) {});
                Graph graph = caller(inner, {"a"}, awaited);
                const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
                control->requestDrain("going down");
                const auto drained = driver.run(app, Update{}, {.thread_id = "1", .control = control});
                CHECK((drained.status == sg::Status::drained));
                CHECK(driver.run(app, sg::RESUME, {.thread_id = "1"}).values.bar == Strings{"a=21"});
                CHECK(log->take() == Strings{"first"});
            }
            CHECK(withEnoughTime(50ms, [&](std::chrono::milliseconds limit) {
                (void)log->take();
                const WorkApp inner =
                    make(std::make_shared<std::atomic<int>>(0), [](sg::Runtime& rt) { rt.waitFor(10min); });
                const App app =
                    caller(inner, {"a"}, awaited,
                           {.retry = {.max_attempts = 2, .initial_interval = {}, .jitter = false}, .timeout = limit})
                        .compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
                const auto done = driver.run(app, Update{}, {.thread_id = "1"});
                // The second attempt continues inside.
                return done.what().empty() && done.values.bar == Strings{"a=21"} && log->take() == Strings{"first"};
            }));
        }
    }
}

TEST_CASE("a drain inside a call ends the run there") {
    const auto control = std::make_shared<sg::RunControl>();
    Log log;
    sg::StateGraph<Work, Work, WorkResult> inner;
    inner.addNode("first", [&](const Work& given) -> sg::Update<Work> {
        log.add("first");
        control->requestDrain("going down");
        return {sg::set(&Work::n, given.n * 2)};
    });
    inner.addNode("second", [&](const Work& given) -> sg::Update<Work> {
        log.add("second");
        return {sg::set(&Work::n, given.n + 1)};
    });
    inner.addEdge("first", "second");
    inner.addEdge(sg::START, "first");
    const App app =
        caller(inner.compile(), {"a"}, false).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto drained = app.invoke(Update{}, {.thread_id = "1", .control = control});
    CHECK((drained.status == sg::Status::drained));
    CHECK(log.take() == Strings{"first"});
    CHECK(app.invoke(sg::RESUME, {.thread_id = "1"}).values.bar == Strings{"a=21"});
    CHECK(log.take() == Strings{"second"});
}

TEST_CASE("what a call fails with can be caught by the node, and a resumed one continues where it failed") {
    Log log;
    auto fails = std::make_shared<bool>(true);
    sg::StateGraph<Work, Work, WorkResult> graph;
    graph.addNode("first", [&log](const Work& given) -> sg::Update<Work> {
        log.add("first");
        return {sg::set(&Work::n, given.n * 2)};
    });
    graph.addNode("second", [fails](const Work& given) -> sg::Update<Work> {
        if (*fails) throw std::runtime_error("broken");
        return {sg::set(&Work::n, given.n + 1)};
    });
    graph.addEdge("first", "second");
    graph.addEdge(sg::START, "first");
    const WorkApp inner = graph.compile();
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        *fails = true;
        (void)log.take();
        const App app = caller(inner, {"a"}, false).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto failed = driver.run(app, Update{}, {.thread_id = "1"});
        CHECK(contains(failed.what(), "broken"));
        CHECK(contains(failed.what(), "'second'"));
        *fails = false;
        CHECK(driver.run(app, sg::RESUME, {.thread_id = "1"}).values.bar == Strings{"a=21"});
        CHECK(log.take() == Strings{"first"});
    }
    *fails = true;
    Graph catches;
    catches.addNode("n", [&](const State&, sg::Runtime& rt) -> Update {
        try {
            (void)rt.invoke(inner, work("a", 1), "a");
        } catch (const sg::NodeError&) {
            *fails = false;
        }
        return {sg::add(&State::bar, text(rt.invoke(inner, work("a", 1), "a")))};
    });
    catches.addEdge(sg::START, "n");
    (void)log.take();
    const App app = catches.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(app.invoke(Update{}, {.thread_id = "1"}).values.bar == Strings{"a=3"});
    CHECK(log.take() == Strings{"first"});
}
