#pragma once
#include <atomic>
#include <chrono>
#include <thread>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::engine {

/// A mutex that two threads rarely need at the same time: each commit of a run locks it, and otherwise only a cancel of
/// the run's thread does. Cost: one atomic operation to lock and a store to unlock, where a detail::Mutex makes two
/// calls. A thread that finds it locked sleeps for short times until it is free. No thread has to be woken, so the lock
/// may be destroyed as soon as it is unlocked. It is not recursive, and not fair.
class SG_CAPABILITY("mutex") BriefLock {
public:
    void lock() noexcept SG_ACQUIRE() {
        while (!try_lock()) std::this_thread::sleep_for(nap);
    }
    bool try_lock() noexcept SG_TRY_ACQUIRE(true) { return !is_held_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept SG_RELEASE() { is_held_.store(false, std::memory_order_release); }
    /// Works like detail::AnnotatedMutex::assertHeld.
    void assertHeld() const noexcept SG_ASSERT_HELD() {}

private:
    static constexpr std::chrono::microseconds nap{50};

    std::atomic<bool> is_held_{false};
};

}  // namespace stategraph::engine
