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

#include "checkpoint/task_fields.hpp"
#include "src/commit/ids.hpp"
#include "src/commit/run_times.hpp"
#include "src/commit/visit.hpp"
#include "src/superstep/schedule.hpp"
#include "src/superstep/task_context.hpp"

namespace stategraph::engine {

/// What is kept of a task besides its writes; it outlives attempts, pauses and processes.
struct TaskRecord {
    std::optional<std::string> error;
    std::vector<Interrupt> interrupts;
    /// Sorted by id and index; for a subgraph's node those of the tasks inside.
    std::vector<Interrupt> answers;
    /// Why the node's error handler has taken over.
    std::optional<NodeFailure> failure;
    /// As it was executed last.
    std::optional<checkpoint::LoggedTaskTime> took;
    std::uint64_t attempts = 1;
    bool stored = false;

    void sortAnswers();
    /// The answer to a question; null if there is none.
    const Interrupt* findAnswer(TaskId question, std::uint64_t index) const noexcept;
    /// Adds the values of the questions without an answer, as CBOR, which are valid as long as the record.
    void addOpenQuestions(std::vector<std::string_view>& values) const;
    bool empty() const noexcept { return !error && interrupts.empty() && answers.empty() && !failure; }
};

enum class TaskStatus : std::uint8_t {
    due,        // not begun
    under_way,  // begun, and nothing is known of its end
    // Ends. With a result:
    restored,  // finished by an earlier run
    finished,
    // Without:
    failed,
    interrupted,  // or stopped at a breakpoint inside a subgraph: then without interrupts
    stopped,      // the run is to end
    to_parent,    // returned a Command for the graph around this one
};

/// The progress of a task. Only a task that has ended in a known way counts for the superstep, and only one that is
/// done has a result.
class TaskProgress {
public:
    TaskStatus status() const noexcept { return status_; }
    bool hasEnded() const noexcept { return status_ != TaskStatus::due && status_ != TaskStatus::under_way; }
    /// Whether it has a result, from this run or an earlier one.
    bool isDone() const noexcept { return isResult(status_); }
    /// Whether an attempt at it was abandoned before, because its driver was destroyed.
    bool wasLeft() const noexcept { return was_left_; }

    /// An attempt, or the node's error handler, begins.
    void begin() noexcept {
        if (status_ == TaskStatus::due) status_ = TaskStatus::under_way;
    }
    /// A task without a result never gets one; one with a result may lose it.
    void end(TaskStatus how) noexcept {
        if (status_ < TaskStatus::failed || !isResult(how)) status_ = how;
    }
    /// The task is no longer running. If it has not ended, it is due again.
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

/// A graph that the task's node has called in the attempt under way (GraphCall).
struct NodeCall {
    TaskId id;
    std::string key;
    bool is_under_way = false;
    std::vector<Interrupt> asked = {};  // what it stopped at
    std::optional<std::chrono::system_clock::time_point> wake_at = {};
};

/// Data that few tasks have.
struct TaskExtra {
    std::exception_ptr failure;
    std::vector<Interrupt> asked;                                  // what it stopped at this time
    std::vector<Interrupt> asked_with_key;                         // of the attempt under way, by key
    std::vector<NodeCall> calls;                                   // the same
    std::optional<std::chrono::system_clock::time_point> wake_at;  // it sleeps until then
    std::optional<IdSequence> inner_ids;
    CheckpointId inner_end;        // of a subgraph whose log lives with the thread: where its visit left it
    bool is_cached = false;        // its result is from the cache
    std::unique_ptr<Visit> visit;  // of a subgraph whose logs have keys
    std::string stored_record;     // of one that stopped among several, if they are few: what is in the log
};

/// One task of the superstep under way.
struct Task {
    PlannedTask planned;
    TaskProgress progress;
    int attempt = 1;                          // the one under way, or the last
    MomentUs began = 0;                       // its first attempt, of several tasks whose times are measured
    const RetryPolicy* retried_by = nullptr;  // which of the node's policies decided about the last failed attempt
    detail::TaskResult result;
    Routes routes;
    TaskRecord record;
    TaskId id;                  // computed when it is needed
    bool leads_flight = false;  // equal tasks wait for it
    bool is_empty = true;       // cleared since it was used

    const TaskExtra& extra() const noexcept { return extra_; }
    /// To be changed.
    TaskExtra& useExtra() noexcept {
        has_extra_ = true;
        return extra_;
    }

    bool isDone() const noexcept { return progress.isDone(); }
    /// At its node, of one that has begun. The call of an error handler is none.
    std::uint64_t attempts() const noexcept {
        return static_cast<std::uint64_t>(record.failure ? record.failure->attempts : attempt);
    }
    /// For the next superstep.
    void use(const PlannedTask& planned_task) {
        if (!is_empty) clear();
        is_empty = false;
        planned = planned_task;
    }
    /// Releases what it was used for.
    void clear();

private:
    TaskExtra extra_;
    bool has_extra_ = false;  // it has been changed since the task was cleared
};

/// The Send that created the task; null: an edge, a join or a goto did.
inline const PendingSend* sendOf(const Schedule& schedule, const Task& task) noexcept {
    return task.planned.is_send ? &schedule.sends[task.planned.send] : nullptr;
}
/// Its payload.
void encodeSend(const PendingSend& send, Encoder& out);

}  // namespace stategraph::engine
