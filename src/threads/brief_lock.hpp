#pragma once
#include <atomic>
#include <chrono>
#include <thread>

namespace stategraph::engine {

/// A mutex for the case that hardly ever two threads want it: each commit of a run takes it, and only a cancel of the
/// run's thread takes it too. Cost: one atomic operation to lock and a store to unlock, where a std::mutex makes two
/// calls. A thread that finds it locked sleeps for short times until it is free. Nobody has to be woken, so the lock
/// may be destroyed as soon as it is unlocked. It is not recursive, and not fair.
class BriefLock {
public:
    void lock() noexcept {
        while (!try_lock()) std::this_thread::sleep_for(nap);
    }
    bool try_lock() noexcept { return !is_held_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept { is_held_.store(false, std::memory_order_release); }

private:
    static constexpr std::chrono::microseconds nap{50};

    std::atomic<bool> is_held_{false};
};

}  // namespace stategraph::engine
