#pragma once
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/checkpoint/paths.hpp"
#include "src/task/task_env.hpp"

namespace stategraph::engine {

/// What only the outermost run has: its claim on the thread, the row of its checkpoint that says how a run from there
/// ended (checkpoint::run_path), what the index of threads says of the thread, and the beginning and the end of the
/// run's events. A run inside another one has no `Root`.
class Root {
public:
    /// What it refers to must outlive it. `start` is the run's beginning.
    Root(TaskEnv& env, const std::optional<Start>& start) noexcept : env_(env), start_(start) {}
    ~Root() {
        if (env_.hasSaver()) env_.shared.claim.takeCancels(nullptr, nullptr);
    }
    Root(const Root&) = delete;
    Root& operator=(const Root&) = delete;

    void claimThread();
    /// The run has read its thread: reports to the readers of its events, if there are any, that it begins.
    void tellBegin();
    /// Held while the log is written to.
    ThreadClaim::Storing storing() { return env_.shared.claim.storing(); }
    /// Accepts cancels from now on: from the first superstep on, as before it there may be nothing to cancel.
    void takeCancels();

    /// Takes the row of the checkpoint at which the run begins, and `record`, which it contains.
    void takeRow(std::string row, const checkpoint::TaskFields& record);
    /// Call it under `storing`, when the plan of the next checkpoint is known and before it is put. If the thread was
    /// cancelled, the checkpoint says so.
    void beginCheckpoint();
    /// The same for the checkpoint of an input that leads to nodes which the run may not be stopped before.
    void passGates();
    /// Call it when the run has reached the checkpoint. `before`: what was stored.
    void reached(CheckpointId before) noexcept;
    /// The checkpoint has been reached by a Command that passed breakpoints, so its row says that the run goes on.
    void noteGoingOn() noexcept { row_.says_running = env_.shared.gates.isPassed(env_.place.checkpoint); }
    /// Stores that the run has resumed, if the stored row says that the thread stopped.
    void storeGoingOn();

    /// Why the superstep has failed as a whole, if no state can have what its tasks wrote.
    void noteConflict(std::string error) noexcept { row_.error = std::move(error); }
    /// Stores why a thread with due tasks stays as it is, for calls that look for unfinished threads. A run that was
    /// drained or replaced stores nothing, because another run continues it.
    void storePause(const RunOutcome& outcome);
    /// The same if the run has failed, where the records of its tasks do not say it.
    void storeFailure();
    /// Updates the index if no record has the status for all tasks, as when several asked or one failed. Another
    /// process may have answered or resumed meanwhile, so everything from which the status follows is compared.
    void tellIndex() noexcept;

    /// Returns what the thread waits for now, as far as the run knows.
    ThreadOutlook outlook() const noexcept;
    /// Adds the open questions of the superstep's tasks, which are put into `questions`. They are not known if a task
    /// has not ended, or if the superstep was not begun and its checkpoint has records.
    ThreadReport report(const ThreadOutlook& outlook, std::vector<std::string_view>& questions) const;

    /// This is the last action of the run, because a subscriber that is notified may begin the next run.
    void tellEnd(Status ending, const RunOutcome& outcome, std::string_view error) noexcept;
    /// The same after a failure, whose questions become those of `outcome`.
    void tellFailedEnd(RunOutcome& outcome, const std::exception_ptr& failure) noexcept;

private:
    struct Row {
        bool says_running = false;  // that a run has resumed after the end that the row reports
        // Whether tasks are due at this checkpoint; guarded by the claim's lock, as a cancel reads it.
        bool has_due = false;
        ThreadOutlook outlook = {};  // what the row says about the thread, if it is stored
        std::string stored = {};     // the row as it is in the log; guarded by the claim's lock
        std::string error = {};
    };

    void store(std::string_view end);
    bool storeCancel();
    std::string recordOf(std::string_view end) const;
    checkpoint::TaskFields fieldsOf(std::string_view end) const;
    ThreadOutlook outlookAfter(std::string_view end) const;
    ThreadOutlook outlookOfTasks() const noexcept;
    bool leftSome() const noexcept;

    TaskEnv& env_;
    const std::optional<Start>& start_;
    Row row_;
};

}  // namespace stategraph::engine
