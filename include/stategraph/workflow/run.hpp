#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/error.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/stream_hub.hpp>
#include <stategraph/workflow/definition.hpp>

// Runs of a workflow: starting, resuming and reading them. A run is a thread of the workflow's graph, "WORKFLOW/RUN".
namespace stategraph::workflow {

/// The status of a workflow's run.
enum class RunStatus : std::uint8_t {
    pending,    // nothing is stored of it
    running,    // work is due: it is under way somewhere, or a process died
    waiting,    // it sleeps
    suspended,  // steps have asked
    paused,     // after one entry (RunOptions::single_step)
    success,
    failed,
    canceled,
};
/// The name of a status, such as "success".
const char* toString(RunStatus status) noexcept;

/// The status of one step of a run.
enum class StepStatus : std::uint8_t { running, waiting, suspended, success, failed };
const char* toString(StepStatus status) noexcept;

/// Why an operation was refused. Nothing ran and nothing changed.
enum class Refusal : std::uint8_t {
    not_suspended,  // neither the run nor the step or item that was named waits for an answer
    ambiguous,      // several steps do, and none was named
    unknown_label,
    already_claimed,  // somebody else answers
    invalid_resume_data,
    invalid_input,
    invalid_state,
    invalid_target,  // of timeTravel: there is no such step, or a step before it has not run
    not_active,      // of restart: nothing was under way
};
const char* toString(Refusal why) noexcept;

/// An operation on a run was refused; `why()` says for which reason.
class RefusedError : public InvalidArgumentError {
public:
    RefusedError(Refusal why, const std::string& text);
    Refusal why() const noexcept { return why_; }

private:
    Refusal why_;
};

/// One question of a step.
struct SuspensionView {
    Value payload = {};
    std::chrono::system_clock::time_point suspended_at = {};
    /// None while the question is open.
    std::optional<Value> answer = {};
    std::optional<std::chrono::system_clock::time_point> resumed_at = {};
};

/// What a step did last.
struct StepView {
    StepStatus status = StepStatus::running;
    /// Its input.
    Value payload = {};
    std::optional<Value> output = {};
    std::optional<std::string> error = {};
    /// Its question; an empty map if it suspended without one.
    std::optional<Value> suspend_payload = {};
    /// What it was last resumed with, also after it has ended.
    std::optional<Value> resume_payload = {};
    /// For the body of a loop: the iteration.
    std::int64_t iteration = 0;
    std::int64_t attempts = 0;
    std::optional<std::chrono::system_clock::time_point> started_at = {};
    std::optional<std::chrono::system_clock::time_point> ended_at = {};
    /// Every question that this execution asked, also those that are answered.
    std::vector<SuspensionView> suspensions = {};
    /// For a suspended foreach: its elements; none for an element that has not begun.
    std::vector<std::optional<StepView>> items = {};
};

/// A label under which a question can be answered.
struct LabelView {
    /// The step of the outermost workflow.
    std::string step;
    std::optional<std::int64_t> index = {};
};

/// An open question.
struct QuestionView {
    /// Names it among all questions of all runs.
    TaskId id;
    /// The path of the step that asks, "outer.each[2].step".
    std::string path;
    Value payload;
    std::vector<std::string> labels;
};

/// A run as it is stored.
struct RunView {
    RunStatus status = RunStatus::pending;
    std::optional<Value> result = {};
    std::string error = {};
    Values state = {};
    /// Each open question's path, from the outermost step to the one that asks; a foreach is one.
    std::vector<std::vector<std::string>> suspended = {};
    std::map<std::string, LabelView> labels = {};
    std::vector<QuestionView> questions = {};
    /// By path, "outer.inner.step"; of steps, maps and sleeps that ran.
    std::map<std::string, StepView> steps = {};
    /// The input of the run.
    Value input = {};
    /// The request context that callers passed (RunOptions::context).
    Values context = {};
    /// The steps of the outermost workflow that were executed, in order.
    std::vector<std::string> path = {};
    /// The entry that is due, from 0.
    std::int64_t at = 0;
    /// What it was started with (RunOptions::metadata).
    Values metadata = {};
    /// When this was stored; none in the result of an operation.
    std::optional<std::chrono::system_clock::time_point> time = {};
    CheckpointId checkpoint_id = {};
};

/// What a run reports while it runs, one event at a time, on the threads of its tasks.
struct RunEvent {
    /// What happened.
    enum class Kind : std::uint8_t {
        start,
        step_start,
        step_output,
        step_progress,
        step_waiting,
        step_suspended,
        step_result,
        canceled,
        paused,
        finish
    };
    Kind kind = Kind::start;
    /// The path of the step; empty for start, canceled, paused and finish.
    std::string path = {};
    /// For step_output: what the step wrote.
    Value value = {};
    /// For step_progress: the place of the element.
    std::int64_t index = 0;
    /// "success", "failed", "suspended" or "bailed" (step_progress, step_result), or the run's (finish).
    std::string status = {};
};
const char* toString(RunEvent::Kind kind) noexcept;

/// The options of one start, resume or restart.
struct RunOptions {
    /// For `start` and `timeTravel`: the state to begin with; none: an empty one, or the stored one.
    std::optional<Values> state = {};
    /// Ends after one entry, with RunStatus::paused.
    bool single_step = false;
    /// The request context of steps: who asks, for which tenant. It is stored with the run, so do not put secrets into
    /// it. If several callers give a key, the last value counts.
    Values context = {};
    /// For `start`: metadata by which the run can be listed, such as a customer or a region. It is stored.
    Values metadata = {};
    /// Waits in this process for sleeps that are due, instead of returning RunStatus::waiting.
    bool waits = false;
    /// Receives what the run does, one event at a time, on the threads of its tasks. What it throws is ignored.
    std::function<void(const RunEvent& event)> on_event = {};
    /// When progress reaches the disk, which decides what a crash can repeat (RunConfig::durability).
    Durability durability = Durability::async;
    /// Ends the run from outside.
    std::shared_ptr<RunControl> control = {};
    /// Hands the events of the run's graph to subscribers of its thread (Flow::makeHub, Flow::threadOf): pieces of
    /// messages that agents in steps report, questions, and how the run ends. Not owned: it must outlive the run.
    StreamHub* hub = nullptr;
};

/// Which runs to list: those for which all of these hold.
struct RunQuery {
    /// One of these; none: any.
    std::vector<RunStatus> status = {};
    /// When the run was last stored: since it waits or sleeps, or when it ended.
    std::optional<std::chrono::system_clock::time_point> changed_after = {};
    std::optional<std::chrono::system_clock::time_point> changed_before = {};
    /// The run's metadata has all of these.
    Values metadata = {};
    /// Only runs after this one in the order of listings; with `limit` a way through all of them in pages.
    std::string after_run_id = {};
    /// At most this many; at least 1.
    std::optional<std::size_t> limit = {};
};

/// One run of a list.
struct ListedRun {
    std::string run_id;
    RunStatus status = RunStatus::pending;
    std::chrono::system_clock::time_point changed_at = {};
    Values metadata = {};
    CheckpointId checkpoint_id = {};
    /// Why it cannot be read; empty for one that can. One that cannot be read is listed where no status and no metadata
    /// is asked for.
    std::string damage = {};
};

/// Which question an answer is for: that of a step, by its id or path ("outer.inner"), of a label, or one by its own
/// id; none of these where one question is open.
struct ResumeTarget {
    std::string step = {};
    std::string label = {};
    /// QuestionView::id: of this question alone, and not of the next one that the step asks.
    TaskId question = {};
    /// The checkpoint that the caller has looked at (RunView::checkpoint_id). If the run has continued since, the
    /// answer is refused as already_claimed.
    CheckpointId seen = {};
    /// For a foreach: the element; none: all that are open.
    std::optional<std::int64_t> index = {};
};

/// A workflow that can be run. Copies share it. Every method is safe from any thread.
class Flow {
public:
    /// Errors: InvalidGraphError that names every fault of the definition.
    Flow(Definition definition, const CompileOptions& options = CompileOptions::defaults());

    RunView start(const std::string& run_id, Value input, const RunOptions& options = {}) const;
    /// Answers an open question, and continues. Errors: RefusedError.
    RunView resume(const std::string& run_id, const ResumeTarget& target, Value data,
                   const RunOptions& options = {}) const;
    /// Resumes what was under way when a process died, or a sleep whose time has come. Errors: RefusedError.
    RunView restart(const std::string& run_id, const RunOptions& options = {}) const;
    /// Ends a run that is suspended, sleeping, paused or left by a dead process; a run that has ended stays as it is. A
    /// run that is under way in this process, through this Flow, ends before its next step; the cancel is stored before
    /// this returns. Errors: what storing throws; the run of this process ends nevertheless.
    RunView cancel(const std::string& run_id) const;
    /// Continues from a step that has run, or is next: the run forgets what this step and those after it did, and its
    /// history keeps it. `input`: what the step gets, recorded as what the entry before it returned. `data`: an answer
    /// for a step that was suspended. Errors: RefusedError.
    RunView timeTravel(const std::string& run_id, const std::string& step, std::optional<Value> input,
                       std::optional<Value> data, const RunOptions& options = {}) const;
    /// The run as it is, or as it was at a checkpoint of its history.
    RunView get(const std::string& run_id, CheckpointId at = {}) const;
    /// The same as one JSON object, of the reference's form: runId, status, value, context, suspendedPaths and so on
    /// (docs/workflows.md).
    std::string snapshot(const std::string& run_id, CheckpointId at = {}) const;
    /// The checkpoints of a run, newest first.
    std::vector<CheckpointId> history(const std::string& run_id) const;

    /// Runs of this workflow, in the order of their threads in the store. Cost: reads every thread's head in the store,
    /// and those of this workflow whose time fits as `get` does; if only runs that are running, waiting or suspended
    /// are asked for, and the store has an index of threads, those that are open alone.
    std::vector<ListedRun> list(const RunQuery& query = {}) const;

    /// Runs of this workflow that are to be resumed without an answer: those that sleep, and those whose process died.
    /// With the time at which each is to be; none: now. Of those that sleep only those that wake by `until`. Cost: of a
    /// store with an index of threads reads the heads of those, and of threads that are under way; else every thread's.
    struct DueRun {
        std::string run_id;
        std::optional<std::chrono::system_clock::time_point> at;
    };
    std::vector<DueRun> dueRuns(
        std::chrono::system_clock::time_point until = std::chrono::system_clock::time_point::max()) const;

    /// The thread that a run is, in the saver and for subscribers.
    ThreadId threadOf(std::string_view run_id) const;
    /// For RunOptions::hub. In another process than the run's it reports what the log has (SubscribeOptions::poll).
    std::unique_ptr<StreamHub> makeHub() const;

    struct Impl;

private:
    friend class Waker;
    friend struct AsyncFlow;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace stategraph::workflow
