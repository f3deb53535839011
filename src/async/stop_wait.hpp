#pragma once
#include <algorithm>
#include <chrono>
#include <coroutine>
#include <optional>
#include <stop_token>

#include <stategraph/detail/async.hpp>
#include <stategraph/detail/mutex.hpp>

#include "src/threads/run_stop.hpp"

namespace stategraph::engine {

/// Posts a wakeup when a run is stopped, in addition to a timer or other sources; the first one counts. The timer is
/// responsible for the run's deadline.
///
/// A coroutine that waits in this way may be resumed on another thread before its `await_suspend` has returned.
/// `await_suspend` holds `mutex`, and `await_resume` locks it first.
class StopWatch {
public:
    explicit StopWatch(detail::Wakeup& wakeup) noexcept : wakeup_(wakeup) {}
    /// Call it after the wakeup was prepared, and its timer was set.
    void watch(std::stop_token token) { callback_.emplace(std::move(token), Wake{wakeup_}); }

private:
    struct Wake {
        detail::Wakeup& wakeup;
        void operator()() const noexcept { wakeup.wake(); }
    };

    detail::Wakeup& wakeup_;
    std::optional<std::stop_callback<Wake>> callback_;
};

/// Awaits a time, or the stop if that comes first.
class StopWait {
public:
    StopWait(detail::SteadyTime at, std::stop_token token) noexcept : at_(at), token_(std::move(token)) {}
    StopWait(const StopWait&) = delete;
    StopWait& operator=(const StopWait&) = delete;

    bool await_ready() const noexcept { return token_.stop_requested(); }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(detail::homeOf(coroutine), coroutine);
        const detail::LockGuard lock(mutex_);
        wakeup_.postAt(at_);
        if (token_.stop_possible()) watch_.watch(token_);
    }
    void await_resume() { const detail::LockGuard lock(mutex_); }

private:
    detail::SteadyTime at_;
    std::stop_token token_;
    detail::Mutex mutex_;
    detail::Wakeup wakeup_;
    StopWatch watch_{wakeup_};
};

/// Does the same for a run's stop and its deadline, as RunStop::waitFor does by blocking. `stop` may be null.
inline StopWait waitUntil(detail::SteadyTime at, const RunStop* stop) {
    if (stop == nullptr) return {at, std::stop_token()};
    return {stop->deadline() ? std::min(at, *stop->deadline()) : at, stop->token()};
}

}  // namespace stategraph::engine
