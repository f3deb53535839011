#pragma once
#include <memory>
#include <optional>

#include "src/run/machine.hpp"
#include "src/run/run.hpp"
#include "src/run/stream_end.hpp"
#include "src/run/stream_queue.hpp"
#include "src/stream/events.hpp"

namespace stategraph::engine {

/// A run that advances when its events have been taken. Its reader blocks (StreamRun) or awaits (AsyncStreamRun), and
/// does what the run needs:
///
///     while (!driver.take(event)) {
///         if (driver.isRunning()) { … } else switch (driver.need()) { … }
///     }
class StreamDriver {
public:
    StreamDriver(std::shared_ptr<const detail::Core> graph, detail::RunInput&& input, const RunConfig& config,
                 const StreamOptions& options, StreamQueue::WhenFull when_full);
    StreamDriver(const StreamDriver&) = delete;
    StreamDriver& operator=(const StreamDriver&) = delete;

    const std::shared_ptr<const detail::Core> core;
    StreamQueue queue;

    Run& run() noexcept { return run_; }
    Machine& machine() noexcept { return machine_; }
    /// Returns whether events come from inside tasks, which then run at the same time as the reader.
    bool isLive() const noexcept { return is_live_; }

    /// Returns true if `event` is the next one, or is empty after the last. Throws what the run failed with, once,
    /// after the events before the failure.
    bool take(std::optional<StreamEvent>& event);

    /// Returns what the reader does before it calls `advance`, or `endTasks` after tasks; never Need::done.
    Need need() const noexcept { return need_; }
    void advance() noexcept;
    /// Tasks run at the same time as the reader from here until `queue.endTasks`, which is called after the last of
    /// them. The reader then calls `endTasks` of this.
    void beginTasks();
    void endTasks() noexcept;
    bool isRunning() const noexcept { return is_running_; }
    /// Returns whether the reader waits for an event of these tasks, or for their end: they had not ended at the last
    /// look at the queue.
    bool mayGetEvents() const noexcept { return may_get_events_; }
    /// Call it instead of `advance` when the reader has left and no task is running. A superstep whose tasks have all
    /// ended is committed.
    void leave() noexcept;

    /// Returns the outcome of the run and, in `values`, the state that it left. Call it once, after the last event.
    RunOutcome takeOutcome(void* values) { return end_.take(run_, values); }

private:
    detail::RunInput input_;
    RunConfig config_;
    const bool is_live_;
    Events events_;
    RunShared shared_;
    Run run_;
    Machine machine_;
    Need need_ = Need::events;
    bool is_running_ = false;
    bool may_get_events_ = false;
    StreamEnd end_;
};

}  // namespace stategraph::engine
