#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

#include <stategraph/config.hpp>
#include <stategraph/failure.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/stream.hpp>

namespace stategraph {
class BaseStore;
}

namespace stategraph::engine {
class RunStop;
class TaskEnv;
struct Task;

/// The run to which a task belongs. While this is held, the task is not abandoned, so the run exists.
struct HeldRun {
    TaskEnv* env = nullptr;  // null if there is no run
    Task* task = nullptr;
    std::unique_lock<std::recursive_mutex> lock = {};
};
}  // namespace stategraph::engine

namespace stategraph::detail {

class CallQuestions;
class Core;

/// The interface that Runtime calls; it represents one attempt at one task. What a Runtime offers is implemented once
/// for each kind of attempt: within its run (RunTaskContext), apart from it, so that it can be abandoned
/// (ApartTaskContext), and without a run, for a router that an edit of the state calls (EditTaskContext). Used on the
/// threads of the node's call.
struct TaskContext {
    int attempt = 1;
    std::uint64_t calls = 0;   // calls of interrupt in this attempt, except in functions that `once` calls
    bool has_payload = false;  // whether the input is a Send's payload
    CallQuestions* awaited_calls = nullptr;  // functions that are coroutines; the one that began last is first
    const NodeFailure* failure = nullptr;    // for an error handler: why it is called

    // The functions of Runtime with the same names follow.
    virtual std::string_view node() const noexcept = 0;
    virtual std::int64_t step() const noexcept = 0;
    virtual int remainingSteps() const noexcept = 0;
    virtual TaskId taskId() const = 0;
    virtual std::string_view threadId() const noexcept = 0;
    virtual CheckpointId checkpointId() const noexcept = 0;
    virtual std::string_view checkpointNs() const noexcept = 0;
    virtual const RunContext& runContext() const noexcept = 0;
    virtual bool stopRequested() const = 0;
    virtual bool drainRequested() const = 0;
    virtual std::stop_token stopToken() const = 0;
    virtual void heartbeat() = 0;
    virtual void sleepUntil(std::chrono::steady_clock::time_point until) = 0;
    virtual void write(const Value& data) = 0;
    virtual void emitMessage(const Value& part) = 0;

    /// Returns whether a reader of the run's stream wants events of a mode now.
    virtual bool wants(StreamMode mode) const = 0;
    /// Returns null if there is none.
    virtual BaseStore* store() const = 0;
    /// Returns the graph's state if it is of the type with this key (typeKey). Errors: InvalidArgumentError.
    virtual const void* state(const void* type) const = 0;
    /// Returns the graph to which the node belongs.
    virtual const Core& core() const noexcept = 0;

    /// Holds the run, for what needs more than the functions above. Errors: CancelledError if the attempt was
    /// abandoned.
    virtual engine::HeldRun hold() const = 0;
    /// Holds the run of an attempt that must have one. `what` completes "a router …" in the error for one that has
    /// none. Errors: also InvalidUpdateError.
    engine::HeldRun holdFor(const char* what) const;

    /// Called when a graph that the node calls begins and ends; the run exists in between. Returns what may end the
    /// graph's run, or null if nothing can. Errors: CancelledError if the attempt was abandoned.
    virtual std::shared_ptr<engine::RunStop> beginGraph() = 0;
    virtual void endGraph() = 0;
    /// Called between them if the attempt's time limit ended the graph's run.
    virtual void graphTimedOut() = 0;
    /// See detail::keepNode. Returns null if the node is never destroyed before it returns.
    virtual std::shared_ptr<void> keepNode() = 0;

protected:
    TaskContext() = default;
    TaskContext(const TaskContext&) = default;
    TaskContext& operator=(const TaskContext&) = delete;
    ~TaskContext() = default;
    /// Throws the error for a state that is not available; `why` completes its text.
    [[noreturn]] void refuseState(const char* why) const;
};

/// Exceptions that unwind a node that has asked a question. They are not derived from std::exception, so that a node's
/// own handlers do not catch them.
struct InterruptSignal {
    Interrupt interrupt;
};
/// Thrown if the run is to end before the node is done.
struct StopSignal {};
/// Thrown to make the node sleep until a later time.
struct SleepSignal {
    std::int64_t wake_unix_ms;
};
struct RefusedAnswerSignal {
    TaskId id;
    std::uint64_t index;
    std::string why;
};

}  // namespace stategraph::detail
