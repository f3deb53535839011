#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/graphs.hpp"

// What a stop or a limit of time inside says of the whole run, beside open questions and after them.
using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;

TEST_CASE("the time limit of a call ends the call, and a later question of the run is a question") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        CHECK(withEnoughTime(50ms, [&](std::chrono::milliseconds limit) {
            Log log;
            const auto calls = std::make_shared<std::atomic<int>>(0);  // an abandoned attempt may end later
            Graph inner;
            inner.addNode("slow", [calls](const State&, sg::Runtime& rt) -> Update {
                if (++*calls == 1) rt.waitFor(10min);
                return bar("slow");
            });
            inner.addEdge(sg::START, "slow");
            const App called = inner.compile();
            Graph graph;
            graph.addNode("work",
                          [called](const State&, sg::Runtime& rt) -> Update {
                              (void)rt.invoke(called, Update{}, "once");
                              return bar("work");
                          },
                          {.retry = {.max_attempts = 2, .initial_interval = {}, .jitter = false}, .timeout = limit});
            graph.addNode("ask", asks(log, "ask"));
            graph.addEdge(sg::START, "work").addEdge("work", "ask");
            const auto saver = std::make_shared<sg::MemorySaver>();
            const App app = graph.compile({.checkpointer = saver});
            const auto asked = driver.run(app, Update{}, {.thread_id = "t"});
            if (!asked.what().empty() || *calls != 2) return false;  // it was too short for the second attempt
            CHECK((asked.status == Status::interrupted));
            CHECK(asked.interrupts.size() == 1);
            CHECK((saver->unfinishedThreads().at(0).reason == Status::interrupted));
            return true;
        }));
    }
}

TEST_CASE("a stop between the supersteps of a graph inside ends the run as stopped, also beside a question") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto control = std::make_shared<sg::RunControl>();
        Log log;
        Graph inner;
        inner.addNode("a", appends(log, "a")).addNode("b", appends(log, "b"));
        inner.addEdge(sg::START, "a").addConditionalEdges("a", [control](const State&) -> std::string {
            control->requestStop();
            return "b";
        });
        Graph graph;
        graph.addNode("ask", asks(log, "ask")).addNode("in", inner.compile());
        graph.addEdge(sg::START, "ask").addEdge(sg::START, "in");
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = graph.compile({.checkpointer = saver});
        const auto stopped = driver.run(app, Update{}, {.thread_id = "t", .max_concurrency = 1, .control = control});
        REQUIRE(stopped.what() == "");
        CHECK((stopped.status == Status::cancelled));
        CHECK(app.recover().empty());
        CHECK(log.count("b") == 0);
        const auto asked = app.invoke(sg::RESUME, {.thread_id = "t"});
        CHECK((asked.status == Status::interrupted));
        CHECK(log.count("a") == 1);
        CHECK(log.count("b") == 1);
    }
}

TEST_CASE("a run at an edit calls graphs again, also below one that stores nothing") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const bool stores : {true, false}) {
            CAPTURE(driver.name);
            CAPTURE(stores);
            Log log;
            Graph innermost;
            innermost.addNode("n", appends(log, "n")).addEdge(sg::START, "n");
            Graph middle;
            middle.addNode("in", innermost.compile()).addNode("ask", asks(log, "ask"));
            middle.addEdge(sg::START, "in").addEdge("in", "ask");
            Graph graph;
            graph.addNode("middle",
                          middle.compile({.checkpointer = stores ? sg::Checkpointer() : sg::NO_CHECKPOINTER}));
            graph.addEdge(sg::START, "middle");
            const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
            app.invoke(Update{}, {.thread_id = "t"});
            const sg::Config edit = app.updateState({.thread_id = "t"}, bar("edited"), {.as_node = sg::START});
            CHECK((driver.run(app, sg::RESUME, {.thread_id = "t"}).status == Status::interrupted));
            (void)log.take();
            const auto again = driver.run(app, sg::RESUME, {.thread_id = "t", .checkpoint_id = edit.checkpoint_id});
            REQUIRE(again.what() == "");
            CHECK((again.status == Status::interrupted));
            CHECK(log.take() == Strings{"n", "ask"});
        }
    }
}
