#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::workers {

/// The clock and the threads of a worker. All of its waiting goes through `wait`, so that a simulation can put a
/// virtual clock and a seeded scheduler in their place. Safe from any thread, except where a function says otherwise.
class Threads {
public:
    using Clock = std::chrono::steady_clock;

    virtual ~Threads() = default;
    virtual Clock::time_point now() = 0;
    /// Waits for `notify(changed)`, at the longest until that time (none: without end). May return early. The lock is
    /// released meanwhile.
    virtual void wait(detail::UniqueLock& lock, std::condition_variable& changed,
                      std::optional<Clock::time_point> until) = 0;
    /// Wakes all that wait for it.
    virtual void notify(std::condition_variable& changed) noexcept = 0;
    /// Wakes at least one of them.
    virtual void notifyOne(std::condition_variable& changed) noexcept = 0;
    /// Calls `run` on a thread of its own. From the thread that calls `join` alone. Errors: std::system_error.
    virtual void start(std::function<void()> run) = 0;
    /// Returns when all threads that were started have ended.
    virtual void join() noexcept = 0;
    /// For numbers that differ between workers.
    virtual unsigned seed() = 0;
};

/// Those of the operating system.
class SystemThreads final : public Threads {
public:
    Clock::time_point now() override;
    void wait(detail::UniqueLock& lock, std::condition_variable& changed,
              std::optional<Clock::time_point> until) override;
    void notify(std::condition_variable& changed) noexcept override;
    void notifyOne(std::condition_variable& changed) noexcept override;
    void start(std::function<void()> run) override;
    void join() noexcept override;
    unsigned seed() override;

private:
    std::vector<std::thread> threads_;
};

}  // namespace stategraph::workers
