#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/executor.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/commit/restore.hpp"
#include "src/run/root.hpp"
#include "src/task/task_env.hpp"

namespace stategraph::engine {

class TaskWindow;
class WarmCache;
struct ThreadReading;
struct WarmThread;

/// The nodes before and after which a run stops: the graph's, or those that its config names.
class RunBreakpoints {
public:
    RunBreakpoints(const detail::Core& core, const RunConfig& config, bool is_root);
    const Breakpoints& before() const noexcept { return *before_; }
    const Breakpoints& after() const noexcept { return *after_; }
    /// Return whether there are any.
    bool anyBefore() const noexcept { return any_before_; }
    bool anyAfter() const noexcept { return any_after_; }

private:
    struct Overrides {
        Breakpoints before;
        Breakpoints after;
    };
    const Breakpoints* before_;
    const Breakpoints* after_;
    std::unique_ptr<Overrides> overrides_;  // null if the config names none
    bool any_before_;
    bool any_after_;
};

/// One run of a graph in one namespace: the steps of which a `Machine` (machine.hpp) makes a whole, and what they work
/// on. A driver executes the tasks, anywhere, in any order and at once; nothing else may be called from several
/// threads. After `awaitPuts` none of the steps waits for a put.
class Run {
public:
    /// `place` is where the state is created (State); null means in an object that the run owns.
    Run(const detail::Core& core, RunShared& shared, const ParentLink* link = nullptr, void* place = nullptr);
    ~Run();

    /// Call it before the run is driven, with what the caller has read of the thread (detail::invokeAfter).
    void haveReadBefore(ThreadReading& read) noexcept { read_before_ = &read; }

    /// For drivers. Runs to the end or a pause on the calling thread, with the executor's help. Stores what is to be
    /// kept if it throws.
    RunOutcome& drive(detail::RunInput&& input);
    /// Has the steps below not wait for puts, if the saver answers later (BaseCheckpointSaver). Call it first. Returns
    /// whether they do not.
    bool awaitPuts() { return env_.log.awaitPuts(); }
    /// What `start` will read first, when the thread is claimed, unless the driver gives it to `haveRead`.
    std::optional<TupleQuery> toRead() const;
    void haveRead(std::optional<CheckpointTuple>&& tuple) { start_->ahead.emplace(std::move(tuple)); }
    std::span<Task* const> todo() const noexcept { return env_.superstep->todo(); }
    void execute(Task& task) noexcept;
    /// Call it before the tasks are executed again, if their executor was destroyed.
    void takeUpLeft() noexcept;
    /// Executes everything in `todo`, on this thread with the executor's help.
    void executeAll() noexcept;

    /// The steps, which only `Machine` calls. All that are not noexcept may throw what the run fails with. `enter`
    /// returns whether `takeTurn` is to claim the thread. `start` stores the input.
    bool enter();
    void takeTurn(const detail::RunInput& input);
    void start(detail::RunInput&& input);
    /// Returns false if no superstep follows.
    bool next();
    void storeSuperstep();
    bool storesAtOnce() const noexcept { return env_.shared.config->durability == Durability::sync; }
    /// Does nothing if the run is paused.
    void leaveSuperstep();
    bool isPaused() const noexcept { return outcome_.status != Status::done; }
    void storeEnd();
    void tellIndex() noexcept;
    /// What it returns exists as long as the run.
    RunOutcome& tellFinish();
    /// After a failure: `tellStored` only if everything is stored.
    void storeFailure() noexcept;
    void tellStored() noexcept;
    void tellFailure(const std::exception_ptr& failure) noexcept;
    /// Instead of continuing, when no caller waits for the end any more.
    void leave() noexcept;
    /// Of a submission: where the run that it has stored begins.
    RunOutcome& submitted();

    /// Returns what the run's tasks work with.
    TaskEnv& env() noexcept { return env_; }
    const detail::Core& core() const noexcept { return env_.core(); }
    RunShared& shared() noexcept { return env_.shared; }
    State& state() noexcept { return env_.state.values; }
    /// Call it before the state changes.
    void ownState() { env_.state.own(); }

private:
    const Topology& topology() const noexcept { return env_.topology(); }
    bool hasSaver() const noexcept { return env_.hasSaver(); }

    // What the run begins with is loaded in load.cpp.
    void planTravels(const detail::RunInput& input);
    bool wasStored(CheckpointId root_checkpoint) const noexcept;
    bool beginsAnew() const noexcept;
    CheckpointId wanted() const noexcept;
    GoneNodes ofGoneNodes(const detail::RunInput& input) const noexcept;
    std::optional<CheckpointTuple> read(const TupleQuery& query);
    std::optional<CheckpointTuple> newestOf(const LogName& log, CheckpointId& head);
    void completeVisits();
    std::optional<std::string> lastingLogOf(const Task& task) const;
    CheckpointId visitOf(const std::string& log) const;
    void findEndedVisits();
    void noteAbandonedVisits();
    void hearAbandoned();
    std::optional<checkpoint::Folded> readAt(CheckpointId id);
    std::optional<checkpoint::Folded> leftByInput(const checkpoint::CommitFields& at,
                                                  const std::vector<PlannedTask>& due);
    void noteAbandonedTasks(const Schedule& schedule, const std::vector<PlannedTask>& due,
                            const checkpoint::Folded& from);
    void load(CheckpointId wanted, GoneNodes gone);
    bool mayBeginWith(const ThreadReading& read) const noexcept;
    bool goesOnInside(const checkpoint::Folded& from) const;
    void standAt(const checkpoint::CommitFields& commit) noexcept;
    void takeRecords();

    // The state of warm threads is taken and kept in warm.cpp.
    WarmCache* warmThreads() const noexcept;
    bool loadWarm();
    bool beginWarm(WarmThread& warm);
    void keepWarm() noexcept;

    // The run begins in begin.cpp.
    bool wasEdited() const noexcept { return env_.place.source == Source::update || env_.place.source == Source::fork; }
    bool mustFork() const;
    void checkStored(const detail::RunInput& input) const;
    void checkIsAsGiven(const detail::RunInput& input) const;
    void checkNotCancelled() const;
    void takeEarlierCommands(GoneNodes gone);
    bool beginWith(detail::RunInput& input);     // returns true if it resumes the pending superstep
    bool beginCommand(detail::RunInput& input);  // returns the same
    void joinCommand(detail::Writes& writes, Routes& routes);
    void takeAnswers(const detail::RunInput& input);
    void putAnswers(const std::set<std::string_view>& touched);
    void beginInput(detail::Writes& writes);
    void takeFinished();
    void expectRecords();
    void applyOutside(detail::Writes& writes, Routes& routes, OperationLog* log);

    bool mayPassGates(CheckpointId wanted) const;

    // Supersteps run in next.cpp.
    bool startsQuietly() const noexcept;
    void startQuietly();
    void prepareTasks();
    void restoreTasks();
    void orderTasks();
    void prepareVisits();
    void restoreTask(Task& task, const checkpoint::TaskFields& fields);
    void restoreFailure(Task& task, const checkpoint::LoggedFailure& failure, bool is_done) const;
    bool isDue(const Breakpoints& breakpoints) const noexcept;
    bool hasRun(const Breakpoints& breakpoints) const noexcept;
    bool stopsAtGate();
    void pauseAtGate();
    bool endsFromOutside();
    std::string_view checkpointMetadata() const noexcept;
    // These are in drive.cpp.
    void executeInTurn() noexcept;
    void executeWithin(TaskWindow& window);
    void executeTogether();

    // Supersteps end in superstep_end.cpp.
    bool joinTasks();
    void applyAll();
    void advanceAll();
    void tellSuperstep();
    void leaveStart() noexcept;
    bool endUnfinished();
    void addOthers(Error& error, const Task& failed) const;
    [[noreturn]] void throwFailure(const Task& failed, std::vector<Interrupt> interrupts) const;
    [[noreturn]] void throwToParent(Task& task) const;
    std::vector<std::exception_ptr> otherFailures(const Task& than) const;
    Status pauseWithoutQuestions() const;
    bool touchesOutput(std::span<Task* const> tasks) const;

    // The run is stored, and ends, in run_end.cpp.
    void commit(Source source);
    void store(Source source);
    CommitStep commitStep(Source source, std::int64_t step);
    void noteSuperstep(MomentUs at, CommitStep& commit) const;
    void noteStored(Source source, MomentUs at);
    void pause(Status status, std::vector<Interrupt> interrupts);
    bool collectFinished();
    void showPause();
    // Notes where the run has come to.
    void noteHere() {
        outcome_.config = {.thread_id = env_.shared.config->thread_id,
                           .checkpoint_id = env_.log.stored(),
                           .checkpoint_ns = env_.place.ns};
    }
    ThreadClaim::Storing storing() { return root_ ? root_->storing() : ThreadClaim::Storing(); }
    ThreadOutlook outlook() const noexcept { return root_ ? root_->outlook() : ThreadOutlook(); }
    void flush(const ThreadOutlook& outlook);
    void flushQuietly(const ThreadOutlook& outlook) noexcept;

    // The run is reported in run_told.cpp.
    void observeStart() noexcept;
    detail::Verdict verdict() const;
    void observeFailure(const std::exception_ptr& failure) noexcept;
    void observeStored(CheckpointId before, std::int64_t step, std::chrono::steady_clock::time_point began) noexcept;

    TaskEnv env_;
    std::optional<Start> start_;  // exists until the first superstep has ended
    ThreadReading* read_before_ = nullptr;
    RunBreakpoints breakpoints_;
    std::optional<Root> root_;  // of the outermost run
    RunOutcome outcome_;
    detail::Verdict verdict_;  // what its end is told and stored as
};

}  // namespace stategraph::engine
