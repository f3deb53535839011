#pragma once
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/detail/node.hpp>
#include <stategraph/failure.hpp>

#include "src/graph/topology.hpp"
#include "src/task/apart_task_context.hpp"
#include "src/threads/run_stop.hpp"

namespace stategraph::detail {
class Core;
}
namespace stategraph {
class Executor;
}

namespace stategraph::engine {

class ThreadClaim;

/// The threads on which nodes that can be abandoned are called, and on which abandoned ones continue. Attempts never
/// wait for each other's threads; otherwise attempts that never end would stop everything. It is never destroyed,
/// because its threads may outlive main.
Executor& attemptThreads();

/// One call of a node, or of its error handler, that may be abandoned while it runs. It is called on a thread of its
/// own, and the attempt owns everything that it uses, so the run can continue, or end, without it. After it was
/// abandoned, its result is dropped and its calls of the Runtime throw CancelledError. The attempt of an awaited
/// coroutine is an AwaitedAttempt.
class Attempt : public std::enable_shared_from_this<Attempt> {
public:
    /// `input` keeps alive what the node reads, and `core` the node itself.
    Attempt(std::shared_ptr<const detail::Core> core, const detail::NodeAction& action,
            std::shared_ptr<const void> input, const RunTaskContext& context, std::shared_ptr<RunStop> stop,
            const AttemptLimits& limits);

    enum class End : std::uint8_t {
        returned,   // `takeResult` has its result
        stopped,    // the run is to end
        timed_out,  // the attempt reached its time limit
        idle,
    };
    virtual ~Attempt() = default;
    /// Calls the node, and returns when the node has returned or the attempt was abandoned.
    End run();
    /// After `returned`: returns the node's result, or throws what it threw.
    detail::TaskResult takeResult();
    /// Returns the number of questions asked in this attempt.
    std::uint64_t calls() const noexcept { return context_.calls; }

    // The following are for ApartTaskContext, on the node's thread.

    /// While one is held, the attempt is not abandoned, so the run exists. Throws CancelledError if the attempt was
    /// abandoned.
    std::unique_lock<std::recursive_mutex> enter();
    void heartbeat();
    /// Called when a graph that the node calls begins and ends. In between, the run exists, and the attempt's idle time
    /// does not pass. A thread that abandons the attempt first ends the graph's run. Returns what may end it. Errors:
    /// CancelledError if the attempt was abandoned.
    std::shared_ptr<RunStop> beginCall();
    void endCall();
    /// Called between them if the attempt's time limit ended the graph's run.
    void callTimedOut();
    std::stop_token token() const noexcept { return source_.get_token(); }
    /// Waits. Throws CancelledError if the run or the attempt is to end first.
    void sleepUntil(Clock::time_point until);

    /// What Runtime reports about the task, whether or not the run still exists.
    struct Info {
        std::string node;
        std::string thread_id;
        std::string checkpoint_ns;
        CheckpointId checkpoint_id;
        TaskId task_id;
        std::int64_t step;
        int remaining_steps;
        RunContext context;
        std::shared_ptr<BaseStore> store;
        std::shared_ptr<const void> state;  // state of the graph
    };
    const Info& info() const noexcept { return info_; }
    const detail::Core& core() const noexcept { return *core_; }
    /// Returns whether the run or this attempt is to end.
    bool isStopping();
    /// See detail::keepNode. Returns null if the node is never destroyed before it returns.
    virtual std::shared_ptr<void> keepNode() { return nullptr; }

protected:
    /// Returns whether the node may be called; false if the attempt was abandoned before. Call it before the node.
    bool mayCall() noexcept SG_EXCLUDES(mutex_);
    /// Releases the graph, its store and the state. Call it on the node's thread, after the node has returned and
    /// before `end`: the code that `end` wakes may expect to be their only owner.
    void releaseGraph() noexcept;
    /// Notes that the node has returned. `result` is passed by value, because it may be what `result_` held.
    void end(detail::TaskResult result, std::exception_ptr thrown) SG_EXCLUDES(mutex_);
    /// Under `mutex_`: wakes the thread that waits for the attempt.
    virtual void wake() noexcept SG_REQUIRES(mutex_) { changed_.notify_all(); }
    /// Under `mutex_`: returns the outcome of the attempt, or none if it is to be waited for, at most until `limit`, or
    /// if it `isEnding`, until `hasNews`.
    std::optional<End> outcome(std::optional<Clock::time_point>& limit) SG_REQUIRES(mutex_);
    /// Under `mutex_`: returns whether the attempt is over except for graphs that the node called, which must end
    /// first. The caller stops `source_` without the lock.
    bool isEnding() const noexcept SG_REQUIRES(mutex_) { return ending_.has_value(); }
    bool hasNews() const noexcept SG_REQUIRES(mutex_) { return ending_ ? graphs_inside_ == 0 : done_ || given_up_; }
    /// Abandons the attempt, for which the caller does not wait any longer.
    void giveUp() SG_EXCLUDES(mutex_, entry_);
    std::stop_token runToken() const noexcept { return stop_ != nullptr ? stop_->token() : std::stop_token(); }
    /// Calls the node, unless the attempt was abandoned, and notes its end.
    void call() noexcept SG_EXCLUDES(mutex_);

private:
    std::optional<Clock::time_point> nextLimit(End& end) const SG_REQUIRES(mutex_);

protected:
    std::shared_ptr<const detail::Core> core_;
    const detail::NodeAction& action_;
    std::shared_ptr<const void> input_;
    ApartTaskContext context_;
    std::optional<NodeFailure> failure_;  // of the task, for an error handler
    const ThreadClaim& claim_;            // of the run
    std::shared_ptr<RunStop> stop_;
    AttemptLimits limits_;
    Info info_;

    detail::RecursiveMutex entry_;  // held while the node uses the run; taken before mutex_
    mutable detail::Mutex mutex_;
    std::condition_variable_any changed_;
    std::stop_source source_;
    bool done_ SG_GUARDED_BY(mutex_) = false;
    bool given_up_ SG_GUARDED_BY(mutex_) = false;
    bool has_begun_ SG_GUARDED_BY(mutex_) = false;         // the node is called, or was
    std::size_t graphs_inside_ SG_GUARDED_BY(mutex_) = 0;  // the graphs under way that the node called
    std::optional<End> ending_ SG_GUARDED_BY(mutex_);      // the outcome once they have ended
    Clock::time_point begun_;
    Clock::time_point last_sign_ SG_GUARDED_BY(mutex_);
    detail::TaskResult result_;  // written by the node; guarded by mutex_ once `done_` is set
    std::exception_ptr thrown_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::engine
