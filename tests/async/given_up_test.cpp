#include <atomic>
#include <chrono>
#include <thread>

#include <stategraph/control.hpp>
#include <stategraph/retry.hpp>

#include "tests/async/stopped.hpp"
#include "tests/async/support.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// Coroutine nodes that are abandoned, because the run was stopped or is out of time, or because the attempt is.
using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;
using namespace stopped;

TEST_CASE("a coroutine node that waits for something else is abandoned, and its late results are discarded") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto control = std::make_shared<sg::RunControl>();
        const auto gate = std::make_shared<Gate>();
        const auto held = std::make_shared<int>(1);
        const auto refused = std::make_shared<std::atomic<int>>(0);
        const auto stubborn = std::make_shared<std::atomic<bool>>(true);
        Graph graph;
        graph.addNode("a", [=](const State& state, sg::Runtime& runtime) -> Task<Update> {
            if (!*stubborn) co_return bar("again");
            const auto mine = held;
            co_await gate->wait();
            CHECK(runtime.stopRequested());
            const std::size_t seen = state.bar.size();  // what it reads is still there
            try {
                runtime.once("effect", [] {});
            } catch (const sg::CancelledError&) {
                ++*refused;
            }
            try {
                runtime.write(sg::Value("late"));
            } catch (const sg::CancelledError&) {
                ++*refused;
            }
            CHECK(runtime.node() == "a");
            CHECK(runtime.threadId() == "t");
            co_await sg::sleepFor(1ms);  // on other threads than the run's, which are gone
            co_return bar("late" + std::to_string(seen));
        });
        graph.addEdge(sg::START, "a");
        {
            const auto app = graph.compile({.checkpointer = saver});
            std::jthread stopper([&] {
                gate->awaitSomebody();
                control->requestStop();
            });
            const auto result = sg::syncWait(app.asyncInvoke(bar("in"), with(control)));
            CHECK((result.status == Status::cancelled));
            CHECK(result.values.bar == Strings{"in"});
            *stubborn = false;
            CHECK(sg::syncWait(app.asyncInvoke(sg::RESUME, thread_t)).values.bar == Strings{"in", "again"});
        }
        graph = Graph();
        CHECK(held.use_count() == 3);  // the test's, the node's, its coroutine's
        gate->open();
        patience::until([&] { return held.use_count() <= 1; });
        CHECK(*refused == 2);
        CHECK(chainOf(appends("a")).compile({.checkpointer = saver}).getState(thread_t).values.bar ==
              Strings{"in", "again"});
    });
}

TEST_CASE("an awaited run whose time is over leaves its sleeping nodes, in every driver") {
    Graph inner;
    inner.addNode("x", appendsLater("x", 1h)).addEdge(sg::START, "x");
    Graph graph;
    graph.addNode("quick", appendsLater("quick"))
        .addNode("sub", inner.compile())
        .addNode("sleeps", [](const State&, sg::Runtime& runtime) -> Task<Update> {
            co_await sg::sleepFor(runtime, 1h);
            co_return bar("slept");
        });
    for (const char* name : {"quick", "sub", "sleeps"}) graph.addEdge(sg::START, name);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    onEachDriver(app, within(100), [](Status status) { CHECK((status == Status::timed_out)); });
    for (const auto& thread : {"t", "tupdates", "tcustom"}) {
        const auto state = app.getState({.thread_id = thread});
        for (const auto& task : state.tasks) {
            CHECK_FALSE(task.error);
            if (task.finished) CHECK(task.name == "quick");
        }
    }
}

TEST_CASE("sleepFor with a runtime ends with the run, and without one in its time") {
    const auto held = std::make_shared<int>(1);
    const auto begun = std::make_shared<std::atomic<bool>>(false);
    const auto cancelled = std::make_shared<std::atomic<bool>>(false);
    const auto control = std::make_shared<sg::RunControl>();
    Graph graph;
    graph.addNode("a", [=](const State& state, sg::Runtime& runtime) -> Task<Update> {
        const auto mine = held;
        *begun = true;
        try {
            co_await sg::sleepFor(runtime, state.n == 0 ? std::chrono::nanoseconds(1ms) : std::chrono::nanoseconds(1h));
        } catch (const sg::CancelledError& error) {
            CHECK(error.context().node == "a");
            *cancelled = true;
        }
        co_return bar("slept");
    });
    graph.addEdge(sg::START, "a");
    const auto app = graph.compile();
    CHECK(sg::syncWait(app.asyncInvoke(Update{})).values.bar == Strings{"slept"});
    CHECK(sg::syncWait(app.asyncInvoke(Update{}, with(control))).values.bar == Strings{"slept"});
    CHECK(app.invoke(Update{}, with(control)).values.bar == Strings{"slept"});
    CHECK_FALSE(*cancelled);
    for (const bool awaited : {true, false}) {
        *begun = *cancelled = false;
        const Update input{sg::add(&State::n, 1)};
        const auto stops = std::make_shared<sg::RunControl>();
        std::jthread stopper([&] {
            while (!*begun) std::this_thread::yield();
            stops->requestStop();
        });
        const auto status =
            awaited ? sg::syncWait(app.asyncInvoke(input, with(stops))).status : app.invoke(input, with(stops)).status;
        CHECK((status == Status::cancelled));
        patience::until([&]() -> bool { return *cancelled; });
    }
}

TEST_CASE("a sleep of the longest time that can be said does not wake at once, and ends with its run") {
    std::atomic<bool> woke = false;
    for (const auto time : {std::chrono::nanoseconds::max(), std::chrono::nanoseconds::max() - 1ns}) {
        const auto app = chainOf(appends("a"), [&, time](const State&, sg::Runtime& runtime) -> Task<Update> {
                             co_await sg::sleepFor(runtime, time);
                             woke = true;
                             co_return Update{};
                         }).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto result = sg::syncWait(app.asyncInvoke(Update{}, {.thread_id = "t", .timeout = 50ms}));
        CHECK((result.status == Status::timed_out));
        CHECK(!woke);
    }
}

TEST_CASE("a node that never ends is abandoned by its run, on threads of its own") {
    const auto go_on = std::make_shared<std::atomic<bool>>(true);
    const auto held = std::make_shared<int>(1);
    const auto rounds = std::make_shared<std::atomic<int>>(0);
    for (const bool spawned : {false, true}) {
        *go_on = true;
        Graph graph;
        for (int i = 0; i < 8; ++i) {
            const std::string name = "n" + std::to_string(i);
            graph.addNode(name, [=](const State&) -> Task<Update> {
                const auto mine = held;
                while (*go_on) {
                    ++*rounds;
                    co_await sg::sleepFor(100us);
                }
                co_return bar("late");
            });
            graph.addEdge(sg::START, name);
        }
        {
            const auto executor = twoThreads();
            const auto app = graph.compile({.executor = executor});
            const auto control = std::make_shared<sg::RunControl>();
            const int before = *rounds;
            std::jthread stopper([&] {
                while (*rounds < before + 30) std::this_thread::yield();
                control->requestStop();
            });
            const auto result = spawned ? sg::spawn(executor, app.asyncInvoke(bar("in"), with(control))).get()
                                        : sg::syncWait(app.asyncInvoke(bar("in"), with(control)));
            CHECK((result.status == Status::cancelled));
            CHECK(result.values.bar == Strings{"in"});
        }
        graph = Graph();
        const int before = *rounds;
        patience::until([&] { return *rounds >= before + 16; });
        *go_on = false;
        patience::until([&] { return held.use_count() <= 1; });
    }
}

TEST_CASE("an awaited attempt over its limit fails with NodeTimeoutError, and the policy decides about another") {
    CHECK(withEnoughTime(150ms, [](std::chrono::milliseconds limit) {
        const auto calls = std::make_shared<std::atomic<int>>(0);
        Graph graph;
        graph
            .addNode("a",
                     [calls](const State&, sg::Runtime& runtime) -> Task<Update> {
                         const int attempt = runtime.attempt();
                         if (++*calls == 1) co_await sg::sleepFor(runtime, 1h);
                         co_return bar("attempt " + std::to_string(attempt));
                     },
                     {.retry = {.max_attempts = 2, .initial_interval = 0ms, .jitter = false}, .timeout = limit})
            .addNode("b",
                     [limit](const State&, sg::Runtime& runtime) -> Task<Update> {
                         for (int i = 0; i < 8; ++i) {
                             co_await sg::sleepFor(limit / 6);
                             runtime.heartbeat();
                         }
                         co_return bar("beats");
                     },
                     {.idle_timeout = limit});
        graph.addEdge(sg::START, "a").addEdge("a", "b");
        try {
            const auto done = sg::syncWait(graph.compile().asyncInvoke(bar("in")));
            return done.values.bar == Strings{"in", "attempt 2", "beats"};
        } catch (const sg::NodeError&) {
            return false;  // the second attempt, or a beat, came too late
        }
    }));

    Graph silent;
    silent.addNode("silent", appendsLater("never", 1h), {.idle_timeout = 20ms}).addEdge(sg::START, "silent");
    CHECK_THROWS_WITH_AS(sg::syncWait(silent.compile().asyncInvoke({})),
                         doctest::Contains("reported no progress for its idle timeout of 20 ms"), sg::NodeError);
}
