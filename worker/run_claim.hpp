#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <stategraph/run_control.hpp>
#include <stategraph/task.hpp>
#include <stategraph/worker.hpp>

namespace stategraph::workers {

/// When a lease ends by this process's clock: not before the server's. A run asks it on its own threads, also one whose
/// process was frozen, before anybody else has found out (detail::RunControlLease).
class LeaseEnd {
public:
    using Time = std::chrono::steady_clock::time_point;

    void set(Time end) noexcept { end_.store(end, std::memory_order_relaxed); }
    bool hasCome(Time now) const noexcept { return now >= end_.load(std::memory_order_relaxed); }

private:
    std::atomic<Time> end_{Time::max()};
};

/// A thread that this worker has, from its claim until it is released.
struct Held {
    Claim claim;
    const detail::WorkerGraph* graph = nullptr;  // null: the worker has none of that name, and the thread is cancelled
    std::size_t queue = 0;                       // index among the worker's queues
    std::shared_ptr<RunControl> control = std::make_shared<RunControl>();
    std::shared_ptr<LeaseEnd> lease_end = std::make_shared<LeaseEnd>();
    /// Whether it waits until the process runs few enough other threads (Claim::apart).
    bool is_waiting = false;
    bool is_lost = false;
    /// Whether it is to be cancelled.
    bool is_cancelled = false;
    bool is_done = false;
    /// How it is released once it is done. Until then it says that the thread is to be tried again, which needs no
    /// memory.
    Release release;
};

/// Runs the thread as far as there is something to do, and returns how it is to be released, or none if the lease is
/// lost. Without a graph it only cancels. It throws only if an allocation does. `isCancelled()` is called if the run
/// was stopped. The arguments must exist until it has ended.
Task<std::optional<Release>> runClaim(const Claim& claim, const detail::WorkerGraph* graph, BaseCheckpointSaver& saver,
                                      const std::shared_ptr<RunControl>& control, const WorkerOptions& options,
                                      const std::function<bool()>& isCancelled);

/// Returns how long a thread waits after this many attempts.
std::chrono::milliseconds backoffAfter(std::int64_t attempts, const WorkerOptions& options) noexcept;

}  // namespace stategraph::workers
