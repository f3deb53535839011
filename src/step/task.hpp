#pragma once
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/node.hpp>
#include <stategraph/failure.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/stream.hpp>

#include "src/checkpoint/task_fields.hpp"
#include "src/commit/ids.hpp"
#include "src/commit/run_times.hpp"
#include "src/commit/visit.hpp"
#include "src/superstep/schedule.hpp"
#include "src/superstep/task_context.hpp"

namespace stategraph::detail {
class Parting;
}

namespace stategraph::engine {

/// What is kept of a task besides its writes. It outlives attempts, pauses and processes.
struct TaskRecord {
    std::optional<std::string> error;
    std::vector<Interrupt> interrupts;
    /// Sorted by id and index. For a subgraph's node, they are the answers of the tasks inside.
    std::vector<Interrupt> answers;
    /// Why the node's error handler has taken over.
    std::optional<NodeFailure> failure;
    /// The time of its last execution.
    std::optional<checkpoint::LoggedTaskTime> took;
    std::uint64_t attempts = 1;
    bool stored = false;

    void sortAnswers();
    /// Returns the answer to a question, or null if there is none.
    const Interrupt* findAnswer(TaskId question, std::uint64_t index) const noexcept;
    /// Adds the values of the questions without an answer, as CBOR, which are valid as long as the record.
    void addOpenQuestions(std::vector<std::string_view>& values) const;
    bool empty() const noexcept { return !error && interrupts.empty() && answers.empty() && !failure; }
};

enum class TaskStatus : std::uint8_t {
    due,        // not begun
    under_way,  // begun, and its end is not known
    // The following are ends. Those with a result:
    restored,  // finished by an earlier run
    finished,
    // Those without a result:
    failed,
    interrupted,  // also stopped at a breakpoint inside a subgraph, then without interrupts
    stopped,      // stopped, because the run is to end
    to_parent,    // returned a Command for the outer graph
};

/// The progress of a task. Only a task that has ended in a known way counts for the superstep, and only one that is
/// done has a result.
class TaskProgress {
public:
    TaskStatus status() const noexcept { return status_; }
    bool hasEnded() const noexcept { return status_ != TaskStatus::due && status_ != TaskStatus::under_way; }
    /// Returns whether it has a result, from this run or an earlier one.
    bool isDone() const noexcept { return isResult(status_); }
    /// Returns whether an earlier attempt at it was abandoned because its driver was destroyed.
    bool wasLeft() const noexcept { return was_left_; }

    /// Notes that an attempt, or the node's error handler, begins.
    void begin() noexcept {
        if (status_ == TaskStatus::due) status_ = TaskStatus::under_way;
    }
    /// Notes an end. A task that ended without a result never gets one; one with a result may lose it.
    void end(TaskStatus how) noexcept {
        if (status_ < TaskStatus::failed || !isResult(how)) status_ = how;
    }
    /// Notes that the task is no longer running. If it has not ended, it is due again.
    void leave() noexcept {
        if (status_ != TaskStatus::under_way) return;
        status_ = TaskStatus::due;
        was_left_ = true;
    }

private:
    static bool isResult(TaskStatus status) noexcept {
        return status == TaskStatus::restored || status == TaskStatus::finished;
    }

    TaskStatus status_ = TaskStatus::due;
    bool was_left_ = false;
};

/// A graph that the task's node has called in the current attempt (GraphCall).
struct NodeCall {
    TaskId id;
    std::string key;
    bool is_under_way = false;
    std::vector<Interrupt> asked = {};  // what it stopped at
    std::optional<std::chrono::system_clock::time_point> wake_at = {};
};

/// The event of a message that a task wrote.
struct WrittenMessage {
    StreamEvent event;
    bool was_reported_inside = false;  // readers of events of subgraphs have received the message
};

/// Data that only few tasks have.
struct TaskExtra {
    std::exception_ptr failure;
    std::vector<Interrupt> asked;           // the questions at which it stopped this time
    std::vector<Interrupt> asked_with_key;  // the questions of the current attempt with a key, by key
    std::vector<NodeCall> calls;            // the graphs called in the current attempt, by key
    std::optional<std::chrono::system_clock::time_point> wake_at;  // the time until which it sleeps
    std::optional<IdSequence> inner_ids;
    CheckpointId inner_end;        // for a subgraph whose log lives with the thread: where its visit left the log
    bool is_cached = false;        // whether its result is from the cache
    std::unique_ptr<Visit> visit;  // for a subgraph whose logs have keys
    std::shared_ptr<detail::Parting> parting;  // what an attempt leaves if it is abandoned
    int parting_of = 0;                        // that attempt
    Value about_effects;                       // entries for its questions about effects in doubt, or null
    std::string stored_record;  // the task's row in the log, as far as this run knows; empty: there is none
};

/// One task of the current superstep.
struct Task {
    PlannedTask planned;
    TaskProgress progress;
    int attempt = 1;                          // the current attempt, or the last
    MomentUs began = 0;                       // the start of its first attempt, if several tasks' times are measured
    const RetryPolicy* retried_by = nullptr;  // which of the node's policies decided about the last failed attempt
    detail::TaskResult result;
    Routes routes;
    TaskRecord record;
    TaskId id;             // computed when it is needed
    bool is_empty = true;  // whether it has been cleared since it was used

    const TaskExtra& extra() const noexcept { return extra_; }
    /// Returns the extra data for changes.
    TaskExtra& useExtra() noexcept {
        has_extra_ = true;
        return extra_;
    }

    bool isDone() const noexcept { return progress.isDone(); }
    /// Returns the number of attempts at the node of a task that has begun. A call of its error handler does not count.
    std::uint64_t attempts() const noexcept {
        return static_cast<std::uint64_t>(record.failure ? record.failure->attempts : attempt);
    }
    /// Prepares the task for the next superstep.
    void use(const PlannedTask& planned_task) {
        if (!is_empty) clear();
        is_empty = false;
        planned = planned_task;
    }
    /// Releases what it used.
    void clear();

private:
    TaskExtra extra_;
    bool has_extra_ = false;  // whether the extra data have changed since the task was cleared
};

/// Returns the Send that created the task, or null if an edge, a join or a goto did.
inline const PendingSend* sendOf(const Schedule& schedule, const Task& task) noexcept {
    return task.planned.is_send ? &schedule.sends[task.planned.send] : nullptr;
}
/// Encodes the payload of a Send.
void encodeSend(const PendingSend& send, Encoder& out);

}  // namespace stategraph::engine
