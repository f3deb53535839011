#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include <stategraph/control.hpp>
#include <stategraph/retry.hpp>

#include "tests/async/support.hpp"

// Awaited runs that end when the test wants it, and a gate for their coroutines.
namespace stopped {

using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;

/// Coroutines wait here until the test opens it, whether they are stopped or not. They continue on the thread that
/// opens it.
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

inline sg::RunConfig with(std::shared_ptr<sg::RunControl> control, std::string thread = "t") {
    sg::RunConfig config;
    config.thread_id = thread;
    config.control = std::move(control);
    return config;
}

inline sg::RunConfig within(int ms, std::string thread = "t") {
    sg::RunConfig config;
    config.thread_id = thread;
    config.timeout = std::chrono::milliseconds(ms);
    return config;
}

inline const sg::Config thread_t{.thread_id = "t"};

inline Graph fails(std::atomic<int>& calls, int nodes) {
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

/// Checks how three kinds of awaited runs end.
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

}  // namespace stopped
