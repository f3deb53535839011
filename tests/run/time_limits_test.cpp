#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>

#include "tests/run/controlled.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Runs, attempts and idle nodes that exceed their time limits.
using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;
using namespace controlled;

TEST_CASE("a run that takes too long ends with timed_out and can continue") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        const auto slow = std::make_shared<std::atomic<bool>>(true);  // an abandoned attempt may be late
        Graph graph;
        graph.addNode("a", appends("a")).addNode("b", [slow](const State&, sg::Runtime& rt) -> Update {
            if (*slow) rt.waitFor(1h);
            return bar("b");
        });
        graph.addEdge(sg::START, "a").addEdge("a", "b");
        const auto app = graph.compile({.checkpointer = saver});
        sg::RunConfig config = thread_t;
        config.timeout = 50ms;
        const auto result = app.invoke({}, config);
        CHECK((result.status == Status::timed_out));
        CHECK((reasonOf(saver) == Status::timed_out));
        *slow = false;
        CHECK(app.invoke(sg::RESUME, thread_t).values.bar == Strings{"a", "b"});
    });
}

TEST_CASE("an attempt that takes too long fails with NodeTimeoutError, and the policy decides about another") {
    auto gate = std::make_shared<Gate>();
    const auto held = std::make_shared<std::atomic<int>>(0);
    CHECK(withEnoughTime(30ms, [&](std::chrono::milliseconds limit) {
        const auto calls = std::make_shared<std::atomic<int>>(0);
        Graph graph;
        graph.addNode("a",
                      [calls, gate, held](const State& state, sg::Runtime& rt) -> Update {
                          if (++*calls == 1) {
                              ++*held;
                              gate->wait();
                              return bar("late" + std::to_string(state.bar.size()));
                          }
                          return bar("attempt" + std::to_string(rt.attempt()));
                      },
                      {.retry = {.max_attempts = 2, .initial_interval = 0ms, .jitter = false}, .timeout = limit});
        graph.addNode("b", appends("b"));
        graph.addEdge(sg::START, "a").addEdge("a", "b");
        try {
            return graph.compile().invoke(bar("in")).values.bar == Strings{"in", "attempt2", "b"};
        } catch (const sg::NodeError&) {
            return false;  // the second attempt did not begin in time
        }
    }));

    Graph once;
    once.addNode("a",
                 [](const State&, sg::Runtime& rt) -> Update {
                     rt.waitFor(1h);
                     return {};
                 },
                 {.timeout = 20ms});
    once.addEdge(sg::START, "a");
    try {
        once.compile().invoke({});
        FAIL("it did not throw");
    } catch (const sg::NodeError& error) {
        try {
            std::rethrow_exception(error.original());
        } catch (const sg::NodeTimeoutError& timeout) {
            CHECK((timeout.kind() == sg::NodeTimeoutError::Kind::run));
            CHECK(timeout.limit() == 20ms);
        }
    }
    gate->open();
    gate->awaitLeft(*held);
}

TEST_CASE("an idle timeout counts from the last sign of the node") {
    CHECK(withEnoughTime(150ms, [](std::chrono::milliseconds limit) {
        Graph graph;
        graph.addNode("beats",
                      [limit](const State&, sg::Runtime& rt) -> Update {
                          for (int i = 0; i < 8; ++i) {
                              std::this_thread::sleep_for(limit / 6);  // sleeps: work that takes time
                              rt.heartbeat();
                          }
                          return bar("beats");
                      },
                      {.idle_timeout = limit});
        graph.addEdge(sg::START, "beats");
        try {
            return graph.compile().invoke({}).values.bar == Strings{"beats"};
        } catch (const sg::NodeError&) {
            return false;  // a beat came too late
        }
    }));

    Graph silent;
    silent.addNode("silent",
                   [](const State&, sg::Runtime& rt) -> Update {
                       rt.waitFor(1h);
                       return {};
                   },
                   {.idle_timeout = 20ms});
    silent.addEdge(sg::START, "silent");
    CHECK_THROWS_WITH_AS(silent.compile().invoke({}),
                         doctest::Contains("reported no progress for its idle timeout of 20 ms"), sg::NodeError);
}

TEST_CASE("impossible limits are refused with their place") {
    Graph graph;
    graph.addNode("a", appends("a"), {.timeout = 0ms}).addEdge(sg::START, "a");
    CHECK_THROWS_WITH_AS(graph.compile(), doctest::Contains("node 'a' has a timeout below 1 ms"),
                         sg::InvalidGraphError);
    Graph inner;
    inner.addNode("x", appends("x")).addEdge(sg::START, "x");
    Graph outer;
    outer.addNode("sub", inner.compile(), {.timeout = 10ms}).addEdge(sg::START, "sub");
    CHECK_THROWS_WITH_AS(outer.compile(), doctest::Contains("is a subgraph and has a timeout"), sg::InvalidGraphError);
    sg::RunConfig config;
    config.timeout = 0ms;
    CHECK_THROWS_WITH_AS(inner.compile().invoke({}, config), doctest::Contains("timeout is 0 ms"),
                         sg::InvalidArgumentError);
}
