#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace stategraph {

/// How runs are ended from outside: given to them by `RunConfig::control`, kept by whoever may want to end them. One may be given to several
/// runs, also after it was used: they then end at once. Every method is safe from any thread.
class RunControl {
public:
    RunControl() = default;
    /// Runs are also stopped when `outer` is.
    explicit RunControl(std::stop_token outer);
    /// Runs are also stopped, or drained, when `outer` is: for one run of many that may be ended alone. Null: no other.
    explicit RunControl(std::shared_ptr<const RunControl> outer);
    RunControl(const RunControl&) = delete;
    RunControl& operator=(const RunControl&) = delete;

    /// Ends the runs now, with Status::cancelled. What is committed, and what tasks of the superstep under way have finished, is kept. Nodes
    /// see it in `Runtime::stopRequested` and in `stopToken()`; none is waited for, and nothing that it still does or returns lands.
    /// The thread counts as cancelled (Unfinished::cancelled): `recover()` leaves it alone, RESUME goes on with it.
    void requestStop() noexcept { source_.request_stop(); }
    bool stopRequested() const noexcept { return source_.stop_requested(); }
    /// For what a node waits on: sockets, condition variables, other libraries.
    std::stop_token stopToken() const noexcept { return source_.get_token(); }

    /// Ends the runs when the superstep under way is done and committed, with Status::drained: for a process that is to go, whose threads
    /// another one takes over (`recover()`). `reason` is for whoever asks; the first request counts.
    void requestDrain(std::string reason = "shutdown");
    bool drainRequested() const noexcept;
    /// Empty if it was not requested.
    std::string drainReason() const;

private:
    std::stop_source source_;
    mutable std::mutex mutex_;
    std::optional<std::string> drain_reason_;
    std::shared_ptr<const RunControl> outer_control_;
    std::optional<std::stop_callback<std::function<void()>>> outer_;
};

class Runtime;
/// The token of the run that a node is in: stopped when the run's control is, or its deadline has passed, or this attempt's time is up. Of a
/// run that nothing can stop: a token that never is.
std::stop_token stopToken(Runtime& runtime);

}  // namespace stategraph
