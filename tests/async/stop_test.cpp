#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <stategraph/control.hpp>
#include <stategraph/retry.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/async/stopped.hpp"
#include "tests/async/support.hpp"
#include "tests/support/savers.hpp"

// Awaited runs that are ended from outside. None of their coroutines is waited for.
using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;
using namespace stopped;

TEST_CASE("a stopped awaited run does not wait for the next attempt, one task or many, together or in turn") {
    for (const int nodes : {1, 3}) {
        for (const int concurrency : {1, 8}) {
            const auto control = std::make_shared<sg::RunControl>();
            std::atomic<int> calls = 0;
            const auto app = fails(calls, nodes).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
            sg::RunConfig config = with(control);
            config.max_concurrency = concurrency;
            std::jthread stopper([&] {
                while (calls < nodes) std::this_thread::yield();
                control->requestStop();
            });
            CHECK((sg::syncWait(app.asyncInvoke(bar("in"), config)).status == Status::cancelled));
            CHECK(calls == nodes);
            CHECK(app.getState(thread_t).next.size() == static_cast<std::size_t>(nodes));
            for (const auto& task : app.getState(thread_t).tasks) CHECK_FALSE(task.error);
        }
    }
}

TEST_CASE("an awaited run that is out of time does not wait for the next attempt") {
    std::atomic<int> calls = 0;
    const auto app = fails(calls, 1).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    onEachDriver(app, within(20), [](Status status) { CHECK((status == Status::timed_out)); });
}

TEST_CASE("an awaited run that waits for its turn on a thread ends when it is stopped or out of time") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto executor = twoThreads();
        Gate gate;
        Graph graph;
        graph.addNode("a", [&](const State&) -> Task<Update> {
            co_await gate.wait();
            co_return bar("a");
        });
        graph.addEdge(sg::START, "a");
        const auto app = graph.compile({.checkpointer = store.open()});
        auto holder = sg::spawn(executor, app.asyncInvoke(bar("first"), {.thread_id = "t"}));
        gate.awaitSomebody();
        for (const auto on_busy : {sg::OnBusy::wait, sg::OnBusy::replace}) {
            sg::RunConfig late = within(10);
            late.on_busy = on_busy;
            late.busy_timeout = 1h;
            CHECK_THROWS_WITH_AS(sg::syncWait(app.asyncInvoke(bar("late"), late)),
                                 doctest::Contains("before it had its turn"), sg::CancelledError);
            const auto control = std::make_shared<sg::RunControl>();
            sg::RunConfig stopped = with(control);
            stopped.on_busy = on_busy;
            stopped.busy_timeout = 1h;
            auto waiting = sg::spawn(executor, app.asyncInvoke(bar("stopped"), stopped));
            // sleeps: usually enough; what is checked holds in any case
            if (on_busy == sg::OnBusy::wait) std::this_thread::sleep_for(2ms);
            control->requestStop();
            CHECK_THROWS_AS(waiting.get(), sg::CancelledError);
            CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(bar("stopped"), stopped)), sg::CancelledError);
            sg::RunConfig refused{.thread_id = "t", .on_busy = on_busy, .busy_timeout = 5ms};
            CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(bar("refused"), refused)), sg::ThreadBusyError);
        }
        gate.open();
        CHECK(holder.get().values.bar == Strings{"first", "a"});
        CHECK(app.getState(thread_t).values.bar == Strings{"first", "a"});
    });
}

TEST_CASE("in a run that can be stopped coroutine nodes do all that nodes do") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto control = std::make_shared<sg::RunControl>();
        Graph graph;
        graph
            .addNode("asks",
                     [](const State&, sg::Runtime& runtime) -> Task<Update> {
                         co_await sg::sleepFor(1ms);
                         const auto first = sg::interrupt<std::string>(runtime, "first?");
                         co_await sg::sleepFor(1ms);
                         co_return bar(first + sg::interrupt<std::string>(runtime, "second?"));
                     })
            .addNode("at once", [](const State&) -> Task<Update> { co_return bar("at once"); })
            .addNode("item",
                     [](const std::string& item) -> Task<Update> {
                         co_await sg::sleepFor(1ms);
                         co_return bar("item " + item);
                     })
            .addNode("flaky",
                     [](const State&, sg::Runtime& runtime) -> Task<Update> {
                         co_await sg::sleepFor(1ms);
                         if (runtime.attempt() == 1) throw std::runtime_error("not yet");
                         co_return bar("flaky");
                     },
                     {.retry = {.max_attempts = 2, .initial_interval = 1ms, .jitter = false}})
            .addNode("bad", [](const State&) -> Task<Update> {
                co_await sg::sleepFor(1ms);
                throw std::runtime_error("broken");
            });
        graph.addEdge(sg::START, "asks").addEdge("asks", "at once").addEdge("item", "flaky").addEdge("flaky", "bad");
        graph.addConditionalEdges("at once", [](const State&) {
            return std::vector{sg::Send("item", std::string("1")), sg::Send("item", std::string("2"))};
        });
        const auto app = graph.compile({.checkpointer = store.open()});
        const auto run = [&](auto input) { return sg::syncWait(app.asyncInvoke(std::move(input), with(control))); };
        CHECK(run(bar("in")).interrupts.size() == 1);
        CHECK(run(sg::Command<>{.resume = "1"}).interrupts.size() == 1);
        CHECK_THROWS_WITH_AS(run(sg::Command<>{.resume = "2"}), doctest::Contains("broken"), sg::NodeError);
        CHECK(app.getState(thread_t).values.bar == Strings{"in", "12", "at once", "item 1", "item 2", "flaky"});
    });
}

TEST_CASE("a run that is destroyed takes its coroutine nodes with it, also if it can be stopped") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto control = std::make_shared<sg::RunControl>();
    const auto held = std::make_shared<int>(1);
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", [held](const State&) -> Task<Update> {
        const auto mine = held;
        co_await sg::sleepFor(1h);
        co_return Update{};
    });
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    const auto app = graph.compile({.checkpointer = saver});
    const sg::RunConfig config = with(control);
    const auto owns = [&]() -> Owner { (void)co_await app.asyncInvoke(Update{}, config); };
    const Owner owner = owns();
    CHECK_FALSE(owner.handle.done());
    CHECK(held.use_count() == 3);
    owner.handle.destroy();
    CHECK(held.use_count() == 2);
    control->requestStop();
    CHECK(app.getState(thread_t).next == Strings{"b"});
}

TEST_CASE("many runs that end while others are stopped are each done or cancelled, and continue") {
    const auto executor = twoThreads();
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = chainOf(appendsLater("a", 500us), appendsLater("b", 500us), appendsLater("c", 500us))
                         .compile({.checkpointer = saver});
    std::vector<std::shared_ptr<sg::RunControl>> controls;
    std::vector<sg::Spawning<sg::Result<State>>> runs;
    for (int i = 0; i < 200; ++i) {
        controls.push_back(std::make_shared<sg::RunControl>());
        runs.push_back(sg::spawn(
            executor, app.asyncInvoke({sg::set(&State::foo, "x")}, with(controls.back(), std::to_string(i)))));
    }
    std::jthread stopper([&] {
        for (std::size_t i = 0; i < controls.size(); i += 2) {
            controls[i]->requestStop();
            if (i % 20 == 0) std::this_thread::sleep_for(200us);  // sleeps: the moment differs from round to round
        }
    });
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto result = runs[i].get();
        if (i % 2 == 1) CHECK((result.status == Status::done));
        if (result.status == Status::done) continue;
        CHECK((result.status == Status::cancelled));
        CHECK(app.invoke(sg::RESUME, {.thread_id = std::to_string(i)}).values == State{"x", {"a", "b", "c"}, 0});
    }
}

TEST_CASE("whichever call to the saver fails, and whenever the run is stopped, it can be gone on with") {
    for (std::size_t call = 1; call < 40; ++call) {
        for (const bool stops : {false, true}) {
            const auto saver = std::make_shared<sg::testing::FaultSaver>(
                std::make_shared<sg::MemorySaver>(), sg::testing::FaultPlan{.fail_at = call}, false);
            const auto control = std::make_shared<sg::RunControl>();
            Graph graph;
            graph
                .addNode("a",
                         [=](const State&, sg::Runtime& runtime) -> Task<Update> {
                             runtime.once("effect", [] {});
                             co_await sg::sleepFor(10us);
                             if (stops) control->requestStop();
                             co_return bar("a");
                         })
                .addNode("fails",
                         [](const State&) -> Task<Update> {
                             co_await sg::sleepFor(10us);
                             throw std::runtime_error("broken");
                         })
                .onError("fails",
                         [](const State&, const sg::NodeFailure& failure) -> Update { return bar(failure.error); });
            graph.addEdge(sg::START, "a").addEdge(sg::START, "fails");
            const auto app = graph.compile({.checkpointer = saver});
            bool failed = false;
            try {
                (void)sg::syncWait(app.asyncInvoke({sg::set(&State::foo, "x")}, with(control)));
            } catch (const sg::Error&) {
                failed = true;
            }
            saver->disarm();
            sg::Result<State> done;
            try {
                done = sg::syncWait(app.asyncInvoke(sg::RESUME, thread_t));
            } catch (const sg::EmptyInputError&) {
                done = sg::syncWait(app.asyncInvoke({sg::set(&State::foo, "x")}, thread_t));
            }
            CHECK(done.values == State{"x", {"a", "broken"}, 0});
            if (!failed) CHECK((done.status == Status::done));
        }
    }
}
