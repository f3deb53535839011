#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <stategraph/control.hpp>
#include <stategraph/retry.hpp>

#include "tests/async/support.hpp"
#include "tests/support/savers.hpp"

// Awaited runs that are ended from outside: none of their coroutines is waited for.
using namespace graphs;
using sg::Status;

namespace {

/// Coroutines wait here until the test opens it, whether they are stopped or not, and go on on the thread that opens it.
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
    config.timeout_ms = ms;
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
                      {.retry = {.max_attempts = 5, .initial_interval_ms = 3'600'000, .jitter = false}});
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
            late.busy_timeout_ms = 3'600'000;
            CHECK_THROWS_WITH_AS(sg::syncWait(app.asyncInvoke(bar("late"), late)), doctest::Contains("before it had its turn"), sg::CancelledError);
            const auto control = std::make_shared<sg::RunControl>();
            sg::RunConfig stopped = with(control);
            stopped.on_busy = on_busy;
            stopped.busy_timeout_ms = 3'600'000;
            auto waiting = sg::spawn(executor, app.asyncInvoke(bar("stopped"), stopped));
            if (on_busy == sg::OnBusy::wait) std::this_thread::sleep_for(2ms);
            control->requestStop();
            CHECK_THROWS_AS(waiting.get(), sg::CancelledError);
            CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(bar("stopped"), stopped)), sg::CancelledError);
            sg::RunConfig refused{.thread_id = "t", .on_busy = on_busy, .busy_timeout_ms = 5};
            CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(bar("refused"), refused)), sg::ThreadBusyError);
        }
        gate.open();
        CHECK(holder.get().values.bar == Strings{"first", "a"});
        CHECK(app.getState(thread_t).values.bar == Strings{"first", "a"});
    });
}
