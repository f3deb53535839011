#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "src/run/run.hpp"
#include "src/run/stream_end.hpp"
#include "src/run/stream_queue.hpp"
#include "src/stream/events.hpp"

namespace stategraph::engine {

/// A run that advances a step when its events have been taken. Its reader blocks (StreamRun) or awaits
/// (AsyncStreamRun), and does itself what those differ in: it waits, and runs tasks.
///
///     while (!driver.take(event)) {
///         switch (driver.advance()) { … }
///     }
///
/// `advance` may throw, and what the reader does itself; then it calls `fail`.
class StreamDriver {
public:
    StreamDriver(std::shared_ptr<const detail::Core> graph, detail::RunInput&& input, const RunConfig& config,
                 const StreamOptions& options, StreamQueue::WhenFull when_full);
    StreamDriver(const StreamDriver&) = delete;
    StreamDriver& operator=(const StreamDriver&) = delete;

    const std::shared_ptr<const detail::Core> core;
    StreamQueue queue;

    Run& run() noexcept { return run_; }
    /// Whether events come from inside tasks, which then run at the same time as the reader.
    bool isLive() const noexcept { return is_live_; }
    /// Whether `advance` is about to take the run's turn on its thread (OnBusy).
    bool isAtBegin() const noexcept { return phase_ == Phase::begin; }

    /// True: `event` is the next one, or none after the last. Throws what the run failed with, once, after the events
    /// before it.
    bool take(std::optional<StreamEvent>& event);

    /// What the reader is to do before it looks again.
    enum class Todo : std::uint8_t {
        nothing,
        tasks,  // run the superstep's tasks, then `endSuperstep`; or run them during the reading: `beginTasks`
        wait,   // for an event, or for the end of the tasks that run at the same time as the reader
        join,   // those have ended: `endSuperstep`
    };
    Todo advance();
    /// Until `queue.endTasks`, which comes after the last of them.
    void beginTasks();
    void endSuperstep();
    /// With the exception that is being handled.
    void fail() { end_.fail(run_); }
    /// Instead of `next`: the reader has left. No task is running; a superstep whose tasks have all ended is committed.
    void leave() noexcept;

    /// What the run came to and, in `values`, the state that it left. Once, after the last event.
    RunOutcome takeOutcome(void* values) { return end_.take(run_, values); }

private:
    enum class Phase : std::uint8_t {
        begin,
        plan,     // the next superstep
        due,      // its tasks are to be run; some may have been left by a reader that was destroyed
        running,  // they run at the same time as the reader
    };

    detail::RunInput input_;
    RunConfig config_;
    const bool is_live_;
    Events events_;
    RunShared shared_;
    Run run_;
    Phase phase_ = Phase::begin;
    bool may_get_events_ = false;  // when the queue was looked at last
    StreamEnd end_;
};

}  // namespace stategraph::engine
