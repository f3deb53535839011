#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <stategraph/control.hpp>
#include <stategraph/retry.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/async/support.hpp"
#include "tests/support/savers.hpp"

// Awaited runs that are ended from outside: none of their coroutines is waited for.
using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;

namespace {

/// Coroutines wait here until the test opens it, whether they are stopped or not, and go on on the thread that opens
/// it.
class Gate {
public:
    auto wait() {
        struct Waiting {
            Gate* gate;
            bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<> coroutine) const {
                Gate& at = *gate;
                const std::lock_guard lock(at.mutex_);
                at.waiting_.push_back(coroutine);
                at.changed_.notify_all();
            }
            void await_resume() const noexcept {}
        };
        return Waiting{this};
    }

    void awaitSomebody(std::size_t number = 1) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_.size() >= number; });
    }
    void open() {
        std::vector<std::coroutine_handle<>> waiting;
        {
            const std::lock_guard lock(mutex_);
            waiting.swap(waiting_);
        }
        for (const auto coroutine : waiting) coroutine.resume();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::coroutine_handle<>> waiting_;
};

sg::RunConfig with(std::shared_ptr<sg::RunControl> control, std::string thread = "t") {
    sg::RunConfig config;
    config.thread_id = thread;
    config.control = std::move(control);
    return config;
}

sg::RunConfig within(int ms, std::string thread = "t") {
    sg::RunConfig config;
    config.thread_id = thread;
    config.timeout = std::chrono::milliseconds(ms);
    return config;
}

const sg::Config thread_t{.thread_id = "t"};

Graph fails(std::atomic<int>& calls, int nodes) {
    Graph graph;
    for (int i = 0; i < nodes; ++i) {
        const std::string name = "fails" + std::to_string(i);
        graph.addNode(name,
                      [&calls](const State&) -> Update {
                          ++calls;
                          throw std::runtime_error("broken");
                      },
                      {.retry = {.max_attempts = 5, .initial_interval = 1h, .jitter = false}});
        graph.addEdge(sg::START, name);
    }
    return graph;
}

/// How three kinds of awaited runs end.
template <class F>
void onEachDriver(const App& app, const sg::RunConfig& config, F check) {
    SUBCASE("waited for") { check(sg::syncWait(app.asyncInvoke(bar("in"), config)).status); }
    SUBCASE("spawned") {
        const auto executor = twoThreads();
        check(sg::spawn(executor, app.asyncInvoke(bar("in"), config)).get().status);
    }
    SUBCASE("streamed") {
        for (const auto mode : {sg::StreamMode::updates, sg::StreamMode::custom}) {
            sg::RunConfig own = config;
            own.thread_id = std::string(config.thread_id.view()) + sg::toString(mode);
            auto stream = app.asyncStream(bar("in"), own, {.modes = mode});
            const auto reads = [&]() -> Task<> {
                while (co_await stream.next()) {
                }
            };
            sg::syncWait(reads());
            check(stream.outcome().status);
        }
    }
}

}  // namespace

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
    savers::onEach([](savers::Store& store) {
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

TEST_CASE("a coroutine node that waits for something else is given up, and nothing that it does later lands") {
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
        while (held.use_count() > 1) std::this_thread::sleep_for(1ms);
        CHECK(*refused == 2);
        CHECK(chainOf(appends("a")).compile({.checkpointer = saver}).getState(thread_t).values.bar ==
              Strings{"in", "again"});
    });
}

TEST_CASE("an awaited run whose time is over leaves its sleeping nodes, whoever drives it") {
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
        while (!*cancelled) std::this_thread::sleep_for(1ms);
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

TEST_CASE("a node that goes on and on is left behind by its run, on threads of its own") {
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
        while (*rounds < before + 16) std::this_thread::sleep_for(1ms);
        *go_on = false;
        while (held.use_count() > 1) std::this_thread::sleep_for(1ms);
    }
}

TEST_CASE("an awaited attempt over its limit fails with NodeTimeoutError, and the policy decides about another") {
    std::atomic<int> calls = 0;
    Graph graph;
    graph
        .addNode("a",
                 [&](const State&, sg::Runtime& runtime) -> Task<Update> {
                     const int attempt = runtime.attempt();
                     if (++calls == 1) co_await sg::sleepFor(runtime, 1h);
                     co_return bar("attempt " + std::to_string(attempt));
                 },
                 {.retry = {.max_attempts = 2, .initial_interval = 0ms, .jitter = false}, .timeout = 200ms})
        .addNode("b",
                 [](const State&, sg::Runtime& runtime) -> Task<Update> {
                     for (int i = 0; i < 8; ++i) {
                         co_await sg::sleepFor(50ms);
                         runtime.heartbeat();
                     }
                     co_return bar("beats");
                 },
                 {.idle_timeout = 300ms});
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    CHECK(sg::syncWait(graph.compile().asyncInvoke(bar("in"))).values.bar == Strings{"in", "attempt 2", "beats"});

    Graph silent;
    silent.addNode("silent", appendsLater("never", 1h), {.idle_timeout = 20ms}).addEdge(sg::START, "silent");
    CHECK_THROWS_WITH_AS(sg::syncWait(silent.compile().asyncInvoke({})),
                         doctest::Contains("gave no sign for its idle timeout of 20 ms"), sg::NodeError);
}

TEST_CASE("in a run that can be stopped coroutine nodes do all that nodes do") {
    savers::onEach([](savers::Store& store) {
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

TEST_CASE("many runs that end while others are stopped are each done or cancelled, and go on") {
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
            if (i % 20 == 0) std::this_thread::sleep_for(200us);
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
