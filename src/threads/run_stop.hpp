#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include <stategraph/config.hpp>
#include <stategraph/detail/mutex.hpp>

namespace stategraph {
class RunControl;
}

namespace stategraph::engine {

using Clock = std::chrono::steady_clock;

/// Ends a run from outside, by its control or its deadline. Most runs have neither, and pay nothing for it. It is
/// shared with attempts that outlive the run. Safe from any thread.
class RunStop {
public:
    /// Returns null if nothing can stop such a run. Errors: InvalidArgumentError for a timeout below 1 ms.
    static std::shared_ptr<RunStop> of(const RunConfig& config);

    explicit RunStop(const RunConfig& config);
    /// Constructs the stop of a graph that a node calls, if the node's attempt may end before the run does. Any of
    /// these may end it: `outer` (null if there is none), the attempt's token, and the time limit `until` (none if
    /// there is none).
    RunStop(std::shared_ptr<RunStop> outer, std::stop_token attempt, std::optional<Clock::time_point> until);
    RunStop(const RunStop&) = delete;
    RunStop& operator=(const RunStop&) = delete;

    /// Returns cancelled or timed_out, or none if the run may continue.
    std::optional<Status> requested() noexcept;
    bool drains() const noexcept;
    /// Returns whether the run may still act on its thread: false if it was leased (detail::RunControlLease), and the
    /// lease has ended.
    bool mayAct() const noexcept;
    /// Waits. It returns earlier if the run is to end.
    void waitFor(std::chrono::duration<double, std::milli> duration);
    /// Waits until `is_ready`. It returns earlier, with false, if the run is to end.
    template <class Ready>
    bool wait(std::condition_variable_any& changed, std::unique_lock<std::mutex>& lock, Ready is_ready) const {
        return deadline_ ? changed.wait_until(lock, token(), *deadline_, is_ready)
                         : changed.wait(lock, token(), is_ready);
    }
    /// A stop is requested when the control stops the run. The caller must look at the deadline too.
    std::stop_token token() const noexcept { return source_.get_token(); }
    std::optional<Clock::time_point> deadline() const noexcept { return deadline_; }

private:
    std::shared_ptr<RunControl> control_;
    std::shared_ptr<RunStop> outer_;
    std::stop_token attempt_;
    std::stop_source source_;
    std::optional<std::stop_callback<std::function<void()>>> link_;
    std::optional<std::stop_callback<std::function<void()>>> attempt_link_;
    std::optional<Clock::time_point> deadline_;
    std::atomic<bool> timed_out_{false};
    // For waits that only the stop ends. These are created with this object, because waiting must not fail.
    detail::Mutex waiting_mutex_;
    std::condition_variable_any waiting_;
};

}  // namespace stategraph::engine
