#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <stategraph/run_control.hpp>
#include <stategraph/task.hpp>
#include <stategraph/worker.hpp>

namespace stategraph::workers {

/// A thread that this worker has, from its claim until it is released.
struct Held {
    Claim claim;
    const detail::WorkerGraph* graph = nullptr;
    std::size_t queue = 0;  // index among the worker's queues
    std::shared_ptr<RunControl> control = std::make_shared<RunControl>();
    /// The lease lasts at least until this time of this process's clock.
    std::chrono::steady_clock::time_point lease_end;
    bool is_lost = false;
    /// Whether it is to be cancelled.
    bool is_cancelled = false;
    bool is_done = false;
    /// How it is released once it is done. Until then it says that the thread is to be tried again, which needs no
    /// memory.
    Release release;
};

/// Runs the thread as far as there is something to do, and returns how it is to be released, or none if the lease is
/// lost. It throws only if an allocation does. `isCancelled()` is called if the run was stopped. The arguments must
/// exist until it has ended.
Task<std::optional<Release>> runClaim(const Claim& claim, const detail::WorkerGraph& graph, BaseCheckpointSaver& saver,
                                      const std::shared_ptr<RunControl>& control, const WorkerOptions& options,
                                      const std::function<bool()>& isCancelled);

/// Returns how long a thread waits after this many attempts.
std::chrono::milliseconds backoffAfter(std::int64_t attempts, const WorkerOptions& options) noexcept;

}  // namespace stategraph::workers
