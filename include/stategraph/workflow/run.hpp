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
    pending,    // nothing is stored for it
    running,    // work is due: a process is running it, or its process died
    waiting,    // it sleeps
    suspended,  // steps have asked questions
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
    ambiguous,      // several questions are open there, and none of them was named
    unknown_label,
    already_claimed,  // another caller is answering, or has answered; the run is under way, or was started before
    invalid_resume_data,
    invalid_input,
    invalid_state,
    invalid_context,
    invalid_target,      // only for timeTravel: no such step, a step before it has not run, or the run is under way
    not_active,          // only for restart: nothing was under way
    changed_definition,  // what is due is no longer in the workflow; its former definition continues the run
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
    /// The answer; none while the question is open.
    std::optional<Value> answer = {};
    std::optional<std::chrono::system_clock::time_point> resumed_at = {};
};

/// The last execution of a step.
struct StepView {
    StepStatus status = StepStatus::running;
    /// The input of the execution.
    Value payload = {};
    std::optional<Value> output = {};
    std::optional<std::string> error = {};
    /// The question of the step; an empty map if it suspended without one.
    std::optional<Value> suspend_payload = {};
    /// The data with which it was last resumed, also after it has ended.
    std::optional<Value> resume_payload = {};
    /// The iteration of the loop whose body the step is.
    std::int64_t iteration = 0;
    std::int64_t attempts = 0;
    std::optional<std::chrono::system_clock::time_point> started_at = {};
    std::optional<std::chrono::system_clock::time_point> ended_at = {};
    /// Every question that this execution asked, also those that are answered.
    std::vector<SuspensionView> suspensions = {};
    /// The elements of a suspended foreach; none for an element that has not begun.
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
    /// Identifies it among all questions of all runs.
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
    /// The path of each open question, from the outermost step to the one that asks; a foreach is one step.
    std::vector<std::vector<std::string>> suspended = {};
    std::map<std::string, LabelView> labels = {};
    std::vector<QuestionView> questions = {};
    /// By path, "outer.inner.step", for the steps, maps and sleeps that ran.
    std::map<std::string, StepView> steps = {};
    /// The input of the run.
    Value input = {};
    /// The request context that callers passed (RunOptions::context).
    Values context = {};
    /// The steps of the outermost workflow that were executed, in order.
    std::vector<std::string> path = {};
    /// The number of the entry that is due, from 0.
    std::int64_t at = 0;
    /// The metadata with which the run was started (RunOptions::metadata).
    Values metadata = {};
    /// When this was stored; none in the result of an operation.
    std::optional<std::chrono::system_clock::time_point> time = {};
    CheckpointId checkpoint_id = {};
};

/// Reported while a run executes, one event at a time, on the threads of its tasks.
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
    /// For `start` and `timeTravel`: the state with which the run begins. None: an empty state for `start`, the stored
    /// one for `timeTravel`.
    std::optional<Values> state = {};
    /// Ends after one entry, with RunStatus::paused.
    bool single_step = false;
    /// The request context of steps, such as the user or the tenant. It is stored with the run, so do not put secrets
    /// into it. If several callers pass a key, the last value counts.
    Values context = {};
    /// What steps see in Runtime::context, as do the graphs and agents that they call (RunConfig::context). It is not
    /// stored.
    RunContext runtime_context = {};
    /// For `start`: metadata by which the run can be listed, such as a customer or a region. It is stored.
    Values metadata = {};
    /// For `start`: refuses a run that has been started before, in any process and whatever became of it, with
    /// already_claimed; so a request that is delivered twice is executed once. Otherwise such a run begins again.
    bool only_new = false;
    /// For `timeTravel`: outputs of steps before the one that is travelled to, or beside it in a parallel, by their
    /// paths ("price", "outer.inner"). They replace what these steps have returned, and the steps need not have run.
    Values outputs = {};
    /// Whether sleeps are waited for in this process; if not, the run returns RunStatus::waiting.
    bool waits = false;
    /// Called for each event of the run, one at a time, on the threads of its tasks. What it throws is ignored.
    std::function<void(const RunEvent& event)> on_event = {};
    /// When progress reaches the disk, which decides what a crash can repeat (RunConfig::durability).
    Durability durability = Durability::async;
    /// Ends the run from outside.
    std::shared_ptr<RunControl> control = {};
    /// How long this call may drive the run; at least 1 ms. After that the run is left as a dead process leaves it, for
    /// `restart` (RunConfig::timeout).
    std::optional<std::chrono::milliseconds> timeout = {};
    /// How many steps may run at once; at least 1 (RunConfig::max_concurrency).
    std::optional<int> max_concurrency = {};
    /// Is notified of what the run's graph does (RunConfig::observer). Not owned: it must outlive the run.
    Observer* observer = nullptr;
    /// Hands the events of the run's graph to subscribers of its thread (Flow::makeHub, Flow::threadOf): pieces of
    /// messages that agents in steps report, questions, and how the run ends. Not owned: it must outlive the run.
    StreamHub* hub = nullptr;
};

/// Which runs to list: those that meet all of these conditions.
struct RunQuery {
    /// The status is one of these; empty: any.
    std::vector<RunStatus> status = {};
    /// When the run was last stored: it waits or sleeps since then, or it ended then.
    std::optional<std::chrono::system_clock::time_point> changed_after = {};
    std::optional<std::chrono::system_clock::time_point> changed_before = {};
    /// The run's metadata has all of these.
    Values metadata = {};
    /// Lists only runs after this one in the order of listings; together with `limit` this allows reading all of them
    /// in pages.
    std::string after_run_id = {};
    /// Lists at most this many runs; at least 1.
    std::optional<std::size_t> limit = {};
};

/// One run of a list.
struct ListedRun {
    std::string run_id;
    RunStatus status = RunStatus::pending;
    std::chrono::system_clock::time_point changed_at = {};
    Values metadata = {};
    CheckpointId checkpoint_id = {};
    /// Why it cannot be read; empty if it can. A run that cannot be read is listed only if the query has no status and
    /// no metadata.
    std::string damage = {};
};

/// Selects the question that is answered: by the id or path of its step ("outer.inner"), by a label, or by its own id.
/// Nothing is needed if only one question is open. If several are selected, the answer is refused as ambiguous, unless
/// it is for all of them.
struct ResumeTarget {
    std::string step = {};
    std::string label = {};
    /// QuestionView::id: selects only this question, and not the next one that the step asks.
    TaskId question = {};
    /// The checkpoint that the caller has seen (RunView::checkpoint_id). If the run has continued since, the answer is
    /// refused with already_claimed.
    CheckpointId seen = {};
    /// The index of the element of a foreach.
    std::optional<std::int64_t> index = {};
    /// The answer is for all questions that are selected, such as those of all elements of a foreach.
    bool all = false;
};

/// A workflow that can be run. Copies share it. Every method is safe from any thread.
class Flow {
public:
    /// Checks the definition and compiles it. Errors: InvalidGraphError that names every fault of the definition.
    Flow(Definition definition, const CompileOptions& options = CompileOptions::defaults());

    /// Begins a run, or begins it again. Errors: RefusedError, also for a run that a caller in this process drives.
    RunView start(const std::string& run_id, Value input, const RunOptions& options = {}) const;
    /// Answers an open question, and continues the run. Errors: RefusedError.
    RunView resume(const std::string& run_id, const ResumeTarget& target, Value data,
                   const RunOptions& options = {}) const;
    /// Resumes a run that was under way when its process died, or a sleeping one whose time has come. Errors:
    /// RefusedError.
    RunView restart(const std::string& run_id, const RunOptions& options = {}) const;
    /// Ends a run that is suspended, sleeping, paused or left by a dead process; a run that has ended stays as it is. A
    /// run that is under way in this process, through this Flow, ends before its next step; the cancel is stored before
    /// this returns. Errors: those of storing; a run of this process ends nevertheless.
    RunView cancel(const std::string& run_id) const;
    /// Continues from a step that has run, or that is next: the run forgets the results of this step and of those after
    /// it, and its history keeps them. Of a foreach that has failed, it keeps the elements that have succeeded, unless
    /// `input`, a state or outputs are given. `input` is the input of the step, recorded as the output of the entry
    /// before it.
    /// `data` is an answer for a step that was suspended. A run that was never started begins in this way at the step:
    /// RunOptions::outputs and `input` are then what the steps before it would have returned, and its input is null
    /// unless the step is in the first entry. Errors: RefusedError; the checks of the step's input, of the answer and
    /// of the state are made before anything is stored.
    RunView timeTravel(const std::string& run_id, const std::string& step, std::optional<Value> input,
                       std::optional<Value> data, const RunOptions& options = {}) const;
    /// The run as it is, or as it was at a checkpoint of its history.
    RunView get(const std::string& run_id, CheckpointId at = {}) const;
    /// The run as one JSON object in the form of the reference: runId, status, value, context, suspendedPaths and so on
    /// (docs/workflows.md).
    std::string snapshot(const std::string& run_id, CheckpointId at = {}) const;
    /// The checkpoints of a run, newest first.
    std::vector<CheckpointId> history(const std::string& run_id) const;

    /// Runs of this workflow, in the order of their threads in the store. Cost: it reads the head of every thread in
    /// the store, and each run of this workflow whose time fits as `get` does. If only runs that are running, waiting
    /// or suspended are requested and the store has an index of threads, it reads only the open threads of this
    /// workflow that may be such runs.
    std::vector<ListedRun> list(const RunQuery& query = {}) const;

    /// A run of this workflow that is to be resumed without an answer: it sleeps, or its process died. With the time at
    /// which it is to be resumed; none: now. Only those sleeping runs that wake by `until` are returned. Cost:
    /// with an index of threads, it reads the heads of these threads and of those of this workflow that are under way;
    /// otherwise that of every thread.
    struct DueRun {
        std::string run_id;
        std::optional<std::chrono::system_clock::time_point> at;
    };
    std::vector<DueRun> dueRuns(
        std::chrono::system_clock::time_point until = std::chrono::system_clock::time_point::max()) const;

    /// The thread of a run, in the saver and for subscribers.
    ThreadId threadOf(std::string_view run_id) const;
    /// Makes a hub for RunOptions::hub. In a process other than the run's, it reports what is in the log
    /// (SubscribeOptions::poll).
    std::unique_ptr<StreamHub> makeHub() const;

    struct Impl;

private:
    friend class Waker;
    friend struct AsyncFlow;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace stategraph::workflow
