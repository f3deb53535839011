#pragma once
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/detail/thread_read.hpp>
#include <stategraph/saver.hpp>

#include "workflow/bell.hpp"
#include "workflow/questions.hpp"
#include "workflow/view.hpp"

namespace stategraph::workflow {

/// Answers and changes with which a run is resumed.
struct Resumption {
    Command<State> command = {};
    CheckpointId only_at = {};                                  // if it is given, the run must still be there
    std::string first_log = {};                                 // as firstLogOf returns it
    std::shared_ptr<stategraph::detail::ThreadRead> read = {};  // the thread as it was read; null if the run reads it
};
/// What a run begins with that has never begun.
struct Beginning {
    Update<State> update;
};
/// A run continues by itself from this checkpoint, if no other caller has continued it since.
struct Continuation {
    CheckpointId only_at;
    std::string first_log = {};  // as firstLogOf returns it
};
/// The input of a run: of a new one, of one that begins again, a resumption, or nothing if the run continues by itself.
using RunInput = std::variant<Beginning, Update<State>, Resumption, Continuation>;

/// Calls that have a run under way or wait for it, by the run's id. There may be several of one run: while one waits
/// for the end of a sleep, another one can have begun the run again.
using Live = std::multimap<std::string, std::shared_ptr<Session>>;

/// The implementation of Flow.
struct Flow::Impl {
    Impl(std::shared_ptr<const Plan> from, const CompileOptions& options)
        : plan(std::move(from)), graph(compile(plan, options)), saver(options.checkpointer.saver()) {}

    std::shared_ptr<const Plan> plan;
    CompiledGraph<State> graph;
    std::shared_ptr<BaseCheckpointSaver> saver;
    mutable stategraph::detail::Mutex mutex = {};
    mutable Live live SG_GUARDED_BY(mutex) = {};
    mutable std::set<std::string> ending
        SG_GUARDED_BY(mutex) = {};  // ids of runs of which somebody edits the thread to end them
    mutable std::condition_variable ended = {};
    mutable Bells bells = {};

    std::string threadNameOf(std::string_view run_id) const { return plan->definition.id + "/" + std::string(run_id); }
    ThreadId threadOf(std::string_view run_id) const { return ThreadId(threadNameOf(run_id)); }
    StateSnapshot<State> read(const std::string& run_id, bool inside = false, CheckpointId at = {}) const {
        return graph.getState({.thread_id = threadOf(run_id), .checkpoint_id = at}, {.subgraphs = inside});
    }
    RunView view(const std::string& run_id, CheckpointId checkpoint = {}) const {
        const auto at = read(run_id, true, checkpoint);
        return isStored(at) ? viewAt(at) : RunView();
    }
    RunView viewAt(const StateSnapshot<State>& at) const;
    /// Returns whether the run sleeps at this checkpoint, which is then its newest one.
    bool sleepsAt(const SnapshotData& at) const;
    /// Returns whether a cancel is stored for the run: beside its newest checkpoint, or as an edit of it.
    bool isCanceled(const std::string& run_id) const;
    static bool isStored(const SnapshotData& at) { return !at.config.checkpoint_id.empty(); }
    bool hasRun(const std::string& run_id) const {
        return saver && saver->getTuple({.log = {.thread_id = threadNameOf(run_id)}});
    }

    /// These return the input of a run for start, resume and restart; restart may find that the run has ended. Errors:
    /// RefusedError.
    RunInput startInput(const std::string& run_id, Value input, const RunOptions& options) const;
    RunInput resumeInput(const std::string& run_id, const ResumeTarget& target, Value data,
                         const RunOptions& options) const;
    /// Takes the run to a step, and returns from where it is to be resumed. Errors: RefusedError.
    Continuation travelTo(const std::string& run_id, const std::string& step, std::optional<Value> input,
                          std::optional<Value> data, const RunOptions& options) const;
    Values checkedState(const std::string& run_id, Values state) const;
    Values contextFor(const std::string& run_id, Values context) const;
    std::variant<RunView, RunInput> restartInput(const std::string& run_id, const RunOptions& options) const;
    /// Ends the run of this process that is under way, and returns whether it is stored that the run is canceled.
    /// Returns none if no run is under way.
    std::optional<bool> cancelLive(const std::string& run_id) const;
    /// With `ends_success`, it also ends a run that has succeeded meanwhile.
    class Ending;
    void end(const std::string& run_id, bool ends_success = false) const;
    void endAsRead(const std::string& run_id, const StateSnapshot<State>& at, bool ends_success) const;
    /// Does the same when nobody else of this process ends it; a run that begins meanwhile waits.
    void endAlone(const std::string& run_id, bool ends_success) const;
    /// Ends it so, unless it is under way in this process. Returns false if it is.
    bool endUnlessLive(const std::string& run_id) const;
    /// Returns whether the workflow itself waits for answers, and not a graph inside a step.
    bool asks(const State& state, const std::vector<Interrupt>& interrupts) const {
        return hasDueQuestion(*plan, state, interrupts);
    }
    /// A run as it is stored, and the questions that it waits for.
    struct ReadRun {
        const State* state = nullptr;
        std::vector<Interrupt> interrupts = {};
        CheckpointId checkpoint_id = {};
        // What owns the state; one of them is set.
        std::shared_ptr<stategraph::detail::ThreadRead> read = {};
        std::unique_ptr<StateSnapshot<State>> snapshot = {};

        bool isStored() const noexcept { return !checkpoint_id.empty(); }
    };
    ReadRun readToResume(const std::string& run_id) const;
    /// Returns what the caller changes in a run that is resumed. Answers that time travel left for steps that it did
    /// not reach are dropped.
    Update<State> goingOnWith(const std::string& run_id, const State& state, const RunOptions& options) const;
    TaskId innerQuestionOf(const std::string& run_id, const StateSnapshot<State>& at, const ResumeTarget& target) const;
    std::vector<Question> questionsOf(const std::string& run_id, const ReadRun& at, const ResumeTarget& target) const;
    std::vector<Question> questionOfId(const std::string& run_id, std::vector<Question> open, const ReadRun& at,
                                       TaskId id) const;

    std::vector<DueRun> dueRuns(std::chrono::system_clock::time_point until) const;
    /// The threads of this workflow of which a run is under way, or was when its process died.
    std::vector<UnfinishedThread> leftThreads() const;
    std::vector<UnfinishedThread> sleepingThreads(std::chrono::system_clock::time_point until) const;
};

}  // namespace stategraph::workflow
