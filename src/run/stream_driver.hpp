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
///         if (driver.mustAwait()) driver.settle();
///         switch (driver.advance()) { … }
///     }
///
/// `settle` and `advance` may throw, and so may what the reader does itself. It then calls `fail`, and continues with
/// the loop.
class StreamDriver {
public:
    StreamDriver(std::shared_ptr<const detail::Core> graph, detail::RunInput&& input, const RunConfig& config,
                 const StreamOptions& options, StreamQueue::WhenFull when_full);
    StreamDriver(const StreamDriver&) = delete;
    StreamDriver& operator=(const StreamDriver&) = delete;

    const std::shared_ptr<const detail::Core> core;
    StreamQueue queue;

    Run& run() noexcept { return run_; }
    /// Returns whether events come from inside tasks, which then run at the same time as the reader.
    bool isLive() const noexcept { return is_live_; }
    /// Returns whether `advance` is about to take the run's turn on its thread (OnBusy).
    bool isAtBegin() const noexcept { return phase_ == Phase::begin; }
    /// Returns what `advance` needs of the log's puts, if anything. A reader that awaits does so, and then calls
    /// `settle` too.
    std::optional<PutQueue::Until> mustAwait() noexcept;
    /// Waits for that. Throws what could not be stored.
    void settle();

    /// Returns true if `event` is the next one, or is empty after the last. Throws what the run failed with, once,
    /// after the events before the failure.
    bool take(std::optional<StreamEvent>& event);

    /// What the reader has to do before it looks again.
    enum class Todo : std::uint8_t {
        nothing,
        read,   // nothing; a reader that awaits may read what the run begins with (Run::toRead)
        tasks,  // run the superstep's tasks, then `endTasks`; or call `beginTasks`, and run them while reading
        wait,   // wait for an event, or for the end of the tasks that run at the same time as the reader
        join,   // call `endTasks`, because those tasks have ended
    };
    Todo advance();
    /// Tasks run from here until `queue.endTasks`, which is called after the last of them.
    void beginTasks();
    void endTasks() noexcept { phase_ = Phase::store; }
    /// Fails with the exception that is being handled.
    void fail();
    /// Call it instead of `advance` when the reader has left and no task is running. A superstep whose tasks have all
    /// ended is committed.
    void leave() noexcept;

    /// Returns the outcome of the run and, in `values`, the state that it left. Call it once, after the last event.
    RunOutcome takeOutcome(void* values) { return end_.take(run_, values); }

private:
    enum class Phase : std::uint8_t {
        begin,
        start,    // the thread is claimed
        begun,    // its input is put
        plan,     // the next superstep is to be planned
        due,      // the superstep's tasks are to be run; a reader that was destroyed may have left some of them
        running,  // the tasks run at the same time as the reader
        store,    // the tasks have ended
        stored,   // their superstep is put
        ending,   // the end is put
        ended,    // and the index of threads knows it
        failing,  // the failure is put
        failed,   // and the index of threads knows it
    };
    bool fails() const noexcept { return phase_ == Phase::failing || phase_ == Phase::failed; }
    void storeEnd();

    detail::RunInput input_;
    RunConfig config_;
    const bool is_live_;
    Events events_;
    RunShared shared_;
    Run run_;
    Phase phase_ = Phase::begin;
    bool may_get_events_ = false;  // of the last look at the queue
    StreamEnd end_;
};

}  // namespace stategraph::engine
