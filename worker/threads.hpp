#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/detail/run_threads.hpp>
#include <stategraph/task.hpp>

namespace stategraph::workers {

/// The clock and the threads of a worker. All of its waiting goes through `wait`, so that a simulation can put a
/// virtual clock and a seeded scheduler in their place. Safe from any thread, except where a function says otherwise.
class Threads {
public:
    using Clock = std::chrono::steady_clock;

    virtual ~Threads() = default;
    virtual Clock::time_point now() = 0;
    /// The clock alone, for what may outlive this object.
    virtual std::function<Clock::time_point()> clock() const = 0;
    /// Waits for `notify(changed)`, at the longest until that time (none: without end). May return early. The lock is
    /// released meanwhile.
    virtual void wait(detail::UniqueLock& lock, std::condition_variable& changed,
                      std::optional<Clock::time_point> until) = 0;
    /// Wakes all that wait for it.
    virtual void notify(std::condition_variable& changed) noexcept = 0;
    /// Prepares for `runs` tasks at once. From the thread that calls `join`, once, before anything is run. Errors:
    /// std::system_error if there is no thread.
    virtual void open(std::size_t runs) = 0;
    /// Runs a loop on a thread of its own, beside the tasks; after `open`. It must not throw, and ends before `join`
    /// returns. Errors: std::system_error if there is no thread.
    virtual void beside(std::function<void()> loop) = 0;
    /// Runs a task, which must not throw. Errors: std::bad_alloc; then it has not begun.
    virtual void run(Task<> task) = 0;
    /// Returns when all tasks, and the loop, have ended.
    virtual void join() noexcept = 0;
    /// For numbers that differ between workers.
    virtual unsigned seed() = 0;
};

/// Those of the operating system. A task has none while it waits.
class SystemThreads final : public Threads {
public:
    Clock::time_point now() override;
    std::function<Clock::time_point()> clock() const override { return &Clock::now; }
    void wait(detail::UniqueLock& lock, std::condition_variable& changed,
              std::optional<Clock::time_point> until) override;
    void notify(std::condition_variable& changed) noexcept override;
    void open(std::size_t runs) override;
    void beside(std::function<void()> loop) override;
    void run(Task<> task) override;
    void join() noexcept override;
    unsigned seed() override;

private:
    std::optional<detail::RunThreads> threads_;
    std::thread beside_;
};

}  // namespace stategraph::workers
