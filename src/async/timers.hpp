#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/task.hpp>

#include "src/threads/fork.hpp"

namespace stategraph::engine {

/// A time at which something is posted to a place. Its owner must not move it until it was removed or has fired.
struct Timer {
    std::chrono::steady_clock::time_point at = {};
    detail::Home home;
    detail::Work work;
    std::size_t place = none;  // index in the heap

    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    static constexpr std::size_t late = none - 1;  // not in the heap: it could not be posted, and is tried again
    Timer* next_late = nullptr;
};

/// The timers of the process: one thread, started with the first, and a heap that holds a pointer for each coroutine
/// that sleeps.
class Timers final : private ForkAware {
public:
    Timers() = default;
    /// Errors: std::bad_alloc, std::system_error if the thread cannot be started.
    void add(Timer& timer);
    /// Posts the work now or, if that fails, again and again. Returns false if there is no thread for that. It
    /// allocates nothing itself.
    bool postAtAll(Timer& timer) noexcept;
    /// Returns false if the timer has fired, so that its work was posted.
    bool remove(Timer& timer) noexcept;

    static Timers& common();

private:
    void lockForFork() noexcept override SG_ACQUIRE(mutex_) { mutex_.lock(); }
    void unlockAfterFork() noexcept override SG_RELEASE(mutex_) { mutex_.unlock(); }
    void restartInChild() noexcept override SG_RELEASE(mutex_);
    void startServing() SG_REQUIRES(mutex_);
    void serve();
    void goOff(Timer& timer) noexcept SG_REQUIRES(mutex_);
    static bool post(const Timer& timer) noexcept;
    void postLate() noexcept SG_REQUIRES(mutex_);
    void take(std::size_t place) noexcept SG_REQUIRES(mutex_);
    void up(std::size_t place) noexcept SG_REQUIRES(mutex_);
    void down(std::size_t place) noexcept SG_REQUIRES(mutex_);
    void put(std::size_t place, Timer* timer) noexcept SG_REQUIRES(mutex_);

    detail::Mutex mutex_;
    std::condition_variable changed_;
    std::vector<Timer*> heap_ SG_GUARDED_BY(mutex_);
    Timer* late_ SG_GUARDED_BY(mutex_) = nullptr;
    bool is_served_ SG_GUARDED_BY(mutex_) = false;
    const FoundByForks found_{*this, FoundByForks::Rank::timers};  // the last member
};

}  // namespace stategraph::engine
