#pragma once
#include <chrono>
#include <memory>

#include <stategraph/run_control.hpp>
#include <stategraph/worker.hpp>

namespace stategraph::workers {

/// A thread that this worker has, from its claim until it is given back.
struct Held {
    Claim claim;
    const detail::WorkerGraph* graph = nullptr;
    std::size_t queue = 0;  // its place among the worker's
    std::shared_ptr<RunControl> control = std::make_shared<RunControl>();
    /// Until when the lease lasts at least, by this process's clock.
    std::chrono::steady_clock::time_point lease_end;
    bool is_lost = false;
    /// Somebody wants it cancelled.
    bool is_cancelled = false;
    bool is_done = false;
    /// How it is given back, once it is done. Until then: to be tried again, which costs no memory to say.
    Release release;
};

/// Runs the thread, as far as there is something to do, and says how it is to be left. None: the lease is lost. Throws
/// nothing but what an allocation throws. `isCancelled()` is asked when the run was stopped.
std::optional<Release> runClaim(const Claim& claim, const detail::WorkerGraph& graph, BaseCheckpointSaver& saver,
                                const std::shared_ptr<RunControl>& control, const WorkerOptions& options,
                                const std::function<bool()>& isCancelled);

/// How long a thread waits after so many attempts.
std::chrono::milliseconds backoffAfter(std::int64_t attempts, const WorkerOptions& options) noexcept;

}  // namespace stategraph::workers
