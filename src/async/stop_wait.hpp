#pragma once
#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include <stategraph/detail/async.hpp>

#include "src/run/run_stop.hpp"

namespace stategraph::engine {

/// Posts a wakeup when a run is stopped: beside a timer, or whatever else posts it; the first that comes counts. Its deadline is the timer's.
///
/// A coroutine that waits so may be resumed on another thread before its `await_suspend` has returned: that holds `mutex`, and
/// `await_resume` takes it first.
class StopWatch {
public:
    explicit StopWatch(detail::Wakeup& wakeup) noexcept : wakeup_(wakeup) {}
    /// After the wakeup was prepared, and its timer set.
    void watch(std::stop_token token) { callback_.emplace(std::move(token), Wake{wakeup_}); }

private:
    struct Wake {
        detail::Wakeup& wakeup;
        void operator()() const noexcept { wakeup.wake(); }
    };

    detail::Wakeup& wakeup_;
    std::optional<std::stop_callback<Wake>> callback_;
};

inline std::int64_t nsOf(Clock::time_point time) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

/// Awaits a time, or the stop if that comes first.
class StopWait {
public:
    StopWait(std::int64_t at_ns, std::stop_token token) noexcept : at_ns_(at_ns), token_(std::move(token)) {}
    StopWait(const StopWait&) = delete;
    StopWait& operator=(const StopWait&) = delete;

    bool await_ready() const noexcept { return token_.stop_requested(); }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(detail::homeOf(coroutine), coroutine);
        const std::lock_guard lock(mutex_);
        wakeup_.postAt(at_ns_);
        if (token_.stop_possible()) watch_.watch(token_);
    }
    void await_resume() {
        const std::lock_guard lock(mutex_);
    }

private:
    std::int64_t at_ns_;
    std::stop_token token_;
    std::mutex mutex_;
    detail::Wakeup wakeup_;
    StopWatch watch_{wakeup_};
};

/// The same of a run's stop and its deadline, as RunStop::waitFor blocks. `stop` may be null.
inline StopWait waitUntil(std::int64_t at_ns, const RunStop* stop) {
    if (stop == nullptr) return {at_ns, std::stop_token()};
    return {stop->deadline() ? std::min(at_ns, nsOf(*stop->deadline())) : at_ns, stop->token()};
}

}  // namespace stategraph::engine
