#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/executor.hpp>

#include "checkpoint/due_tasks.hpp"
#include "checkpoint/paths.hpp"
#include "src/commit/ids.hpp"
#include "src/commit/log_writer.hpp"
#include "src/commit/restore.hpp"
#include "src/commit/thread_claim.hpp"
#include "src/commit/visit.hpp"
#include "src/graph/core.hpp"
#include "src/run/effects.hpp"
#include "src/run/events.hpp"
#include "src/run/observation.hpp"
#include "src/run/place.hpp"
#include "src/run/run_memory.hpp"
#include "src/run/run_stop.hpp"
#include "src/run/start.hpp"
#include "src/run/superstep.hpp"
#include "src/run/task.hpp"
#include "src/run/travel.hpp"

namespace stategraph::engine {

class TaskWindow;

/// What a run and the runs inside it share.
struct RunShared {
    const RunConfig* config;
    BaseCheckpointSaver* saver;
    Executor* executor;
    std::size_t concurrency;
    Events* events;
    std::string metadata;  // a CBOR map, or empty
    std::mutex answers_mutex = {};  // over the answers in tasks' records
    std::vector<std::pair<TaskId, std::uint64_t>> new_answers = {};  // given to this run
    std::atomic<std::uint64_t> run_bits = 0;  // tells this run from others where nothing is stored; made when somebody asks
    Effects effects = {};
    ThreadClaim claim = {};
    std::shared_ptr<RunStop> stop = {};  // null: nothing can stop the run
    std::vector<TravelStop> stops = {};  // of a run that begins inside a subgraph: each graph's, the root's first
    bool is_inside_flight = false;  // it was begun by a node that others may wait for
};

/// A graph that a task's node calls (GraphCall).
struct CalledGraph {
    TaskId caller;         // the task, or what names its error handler
    TaskId id;             // the call's
    std::string_view key;
    std::shared_ptr<RunStop> stop = {};
};

/// How a run inside a task hangs on the run around it.
struct ParentLink {
    Run* run;
    Task* task;
    InnerStart start;
    /// Which of the subgraph's logs it is; empty: there is one. The task's.
    std::string_view key = {};
    /// Where the run is to begin instead of the newest checkpoint; null: there.
    const TravelStop* stop = nullptr;
    /// Null: the task is a subgraph's visit.
    const CalledGraph* call = nullptr;
};

/// The state that a run works on.
struct RunState {
    RunState(const detail::Schema& schema, void* place) : values(schema, place) {}

    State values;

    /// An attempt that was given up keeps what it reads. From any thread.
    void leave() noexcept { is_left_.store(true); }
    /// Before the values change.
    void own() {
        if (!is_left_.load(std::memory_order_relaxed)) return;  // as nearly always; whoever sets it has ended or was waited for
        is_left_.store(false, std::memory_order_relaxed);
        values.separate();
    }

private:
    std::atomic<bool> is_left_ = false;
};

/// The nodes that a run stops before and after: the graph's, or those that its config says.
class RunBreakpoints {
public:
    RunBreakpoints(const detail::Core& core, const RunConfig& config, bool is_root);
    const Breakpoints& before() const noexcept { return *before_; }
    const Breakpoints& after() const noexcept { return *after_; }

private:
    struct Overrides {
        Breakpoints before;
        Breakpoints after;
    };
    const Breakpoints* before_;
    const Breakpoints* after_;
    std::unique_ptr<Overrides> overrides_;  // null: the config says none
};

/// How many supersteps a run may take, and has begun.
struct SuperstepCount {
    int limit;
    int begun = 0;
    int remaining() const noexcept { return begun > 0 ? limit - begun + 1 : std::min(limit, std::numeric_limits<int>::max() - 1) + 1; }
};

/// The row of the root's checkpoint that says how a run on it ended (checkpoint::run_path).
struct EndRow {
    std::string_view if_it_throws = checkpoint::run_failed;
    bool says_running = false;  // of this checkpoint: a run went on over the end that it told of
    bool has_due = false;       // tasks, at this checkpoint; under the claim's lock, as a cancel looks at it
};

/// One run of a graph in one namespace: a state machine that whoever drives it feeds with executed tasks.
///
///     run.begin(input);
///     while (run.next()) {
///         for each task in run.todo(): run.execute(task)   // anywhere, in any order, at once
///         run.endSuperstep();
///     }
///     run.finish();
///
/// Any of these may throw what the run fails with; then `fail()` stores what is to be kept. Only `execute` may be called from several threads.
class Run {
public:
    /// `place`: where the state is to be (State); null: in an object of the run's own.
    Run(const detail::Core& core, RunShared& shared, const ParentLink* parent = nullptr, void* place = nullptr);
    ~Run();

    void begin(detail::RunInput&& input);
    bool next();
    std::span<Task* const> todo() const noexcept { return superstep_->todo(); }
    void execute(Task& task) noexcept;
    /// Before the tasks are executed anew, where whoever executed them was destroyed.
    void takeUpLeft() noexcept;
    /// All that is to do, on this thread with the executor's help.
    void executeAll() noexcept;
    void executeInTurn() noexcept;
    void executeWithin(TaskWindow& window);
    bool isPaused() const noexcept { return outcome_.status != Status::done; }
    void endSuperstep();
    /// What it came to is there as long as the run.
    detail::RunOutcome& finish();
    /// After an exception out of the others.
    void fail() noexcept;
    /// Instead of going on: nobody waits for the end any more.
    void leave() noexcept;

    /// Runs to the end or a pause on the calling thread, with the executor's help. Stores what is to be kept if it throws.
    detail::RunOutcome& drive(detail::RunInput&& input);

    const detail::Core& core() const noexcept { return core_; }
    const Topology& topology() const noexcept { return core_.topology(); }
    RunShared& shared() noexcept { return shared_; }
    State& state() noexcept { return state_.values; }
    const Place& place() const noexcept { return place_; }
    int limit() const noexcept { return supersteps_.limit; }
    int remainingSteps() const noexcept { return supersteps_.remaining(); }
    /// Of the run that made the checkpoint whose tasks are next.
    std::string_view checkpointMetadata() const noexcept {
        const bool is_loaded = start_ && start_->from && place_.checkpoint == start_->from->commit.id;
        return is_loaded ? start_->from->commit.metadata : std::string_view(shared_.metadata);
    }
    /// The newest stored checkpoint that the run builds on; none at first.
    CheckpointId storedCheckpoint() const noexcept { return log_.stored(); }
    /// When it is to be resumed, if it ended asleep.
    std::optional<std::int64_t> wakeUnixMs() const noexcept { return outcome_.wake_unix_ms; }
    /// The outermost run's, which is the clock of all.
    IdSource& idSource() const noexcept { return ids_.source(); }
    /// Why the run is to end at once, if it is.
    std::optional<Status> stopStatus() const { return run_stop_ ? run_stop_->requested() : std::nullopt; }
    /// What may end it from outside; null: nothing. The root's, or that of a call which a node's limits may end as well.
    const std::shared_ptr<RunStop>& runStop() const noexcept { return run_stop_; }
    /// Whether nodes are called where they can be given up.
    bool callsApart(const Node& node) const noexcept { return run_stop_ != nullptr || node.limits.any(); }
    /// Whether it is part of a task that others may wait for (Flight).
    bool isInsideFlight() const noexcept {
        return parent_ != nullptr ? parent_->task->leads_flight || parent_->run->isInsideFlight() : shared_.is_inside_flight;
    }
    /// An attempt that was given up keeps what it reads of the state.
    void leaveState() noexcept { state_.leave(); }
    /// Before the state changes.
    void ownState() { state_.own(); }
    /// The graph's store, or that of the nearest graph around it that has one; null if none has.
    std::shared_ptr<BaseStore> store() const noexcept;
    bool hasSaver() const noexcept { return log_.hasSaver(); }
    /// Whether nothing is kept of tasks, and nobody told of them but observers.
    bool isQuiet() const noexcept { return !hasSaver() && !shared_.events->any(); }
    const Observation& observation() const noexcept { return observation_; }
    void observeRetry(Task& task, int attempt, std::chrono::duration<double, std::milli> wait) noexcept;
    TaskId idOf(Task& task) const { return place_.idOf(task); }
    const Node& nodeOf(const Task& task) const noexcept { return place_.nodeOf(task); }
    /// The Send that made the task; null: another did.
    const PendingSend* sendOf(const Task& task) const noexcept { return task.planned.is_send ? &schedule_.sends[task.planned.send] : nullptr; }
    /// Its payload.
    void encodeSend(const Task& task, Encoder& out) const;
    /// The answer to a task's question, if there is one.
    /// `is_new`: whether no attempt is known to have taken it.
    std::optional<Value> findAnswer(Task& task, TaskId id, std::uint64_t index, bool* is_new = nullptr);
    /// Keeps, as long as the process has room for it, of which type an answer must be.
    void noteCheck(const Interrupt& asked, std::string node, detail::AnswerCheck check);
    /// The answer to the question that a task was last stopped at by an earlier version of the library, if it is this one: there what
    /// functions ask that `once` calls was counted among the node's own. `before`: how many of both came before in this attempt. The question
    /// gets the name and place of `now`.
    std::optional<Value> takeOldAnswer(Task& task, const Value& question, std::uint64_t before, const Interrupt& now);
    /// A question with a key is asked, and has no answer: it is open if the attempt ends with a question, whichever that is.
    void noteAsked(Task& task, const Interrupt& asked);
    /// Of the questions with keys of the attempt under way the one with an id, which is among them.
    Interrupt askedOf(const Task& task, TaskId id) const;
    /// The first of them; none if nothing was asked.
    std::optional<Interrupt> firstAsked(const Task& task) const;
    /// What the attempt ends with: what graphs stopped at that the node called, by the calls' keys; those questions, by key; and `last` (null:
    /// there is no other) if it is not among them. A graph that sleeps sets the task's time to wake.
    std::vector<Interrupt> takeAsked(Task& task, Interrupt* last);
    /// Makes the question open again.
    void withdrawAnswer(Task& task, TaskId id, std::uint64_t index);
    /// Keeps what is known of an effect of one of this run's tasks: in the outermost log, under the superstep that the task belongs to.
    void storeEffect(const std::string& path, Effects::Entry entry);

private:
    friend class Execution;
    friend class GraphCall;
    friend class CachedTask;
    friend class TaskInput;

    // What it begins with: load.cpp.
    void planTravels(const detail::RunInput& input);
    const TravelStop* nextStop(const Task& task, std::string_view key) const;
    bool isPerThread() const noexcept;
    bool wasStored(CheckpointId root_checkpoint) const noexcept;
    std::optional<CheckpointTuple> newestOf(const LogName& log, CheckpointId& head) const;
    VisitFrom visitFrom() const noexcept { return {place_.ns, place_.checkpoint, log_.stored()}; }
    void completeVisits();
    std::optional<std::string> lastingLogOf(const Task& task) const;
    CheckpointId visitOf(const std::string& log) const;
    void findEndedVisits();
    void noteAbandonedVisits();
    void load(CheckpointId wanted, GoneNodes gone);
    bool goesOnInside(const checkpoint::Folded& from) const;
    void takeRecords();

    // Beginning: begin.cpp.
    bool wasEdited() const noexcept { return place_.source == Source::update || place_.source == Source::fork; }
    void checkStored(const detail::RunInput& input) const;
    void checkNotCancelled() const;
    void claimThread();
    void takeEarlierCommands(GoneNodes gone);
    bool beginWith(detail::RunInput& input);     // true: it goes on with the superstep that waits
    bool beginCommand(detail::RunInput& input);  // the same
    std::string encodeCommand(detail::Writes& writes, const Routes& routes) const;
    void takeAnswers(const detail::RunInput& input);
    void putAnswers(const std::set<std::string_view>& touched);
    void beginInput(detail::Writes& writes);
    TaskRecord& answersOf(Task& task) noexcept;
    void applyOutside(detail::Writes& writes, Routes& routes, OperationLog* log);

    // Supersteps: superstep.cpp.
    InnerStart startInside() const noexcept;
    bool startsQuietly() const noexcept;
    void startQuietly();
    void countSuperstep();
    void prepareTasks();
    void prepareVisits();
    void restoreTask(Task& task, const checkpoint::TaskFields& fields);
    // Failures: error_handler.cpp.
    void restoreFailure(Task& task, const checkpoint::LoggedFailure& failure, bool is_done) const;
    std::vector<std::exception_ptr> otherFailures(const Task& than) const;
    bool startsNoMore() const noexcept;
    bool leftSome() const noexcept;
    void commit(Source source);
    CommitStep commitStep(Source source, std::int64_t step);
    bool stopsAt(const Breakpoints& breakpoints) const noexcept;
    bool endsFromOutside();
    Status pauseWithoutQuestions() const;
    void noteEnd();
    void storeEnd();
    void advanceAll();
    bool collectFinished();
    void applyTasksWrites();
    bool endUnfinished();
    void addOthers(Error& error, const Task& failed) const;
    [[noreturn]] void throwFailure(const Task& failed, std::vector<Interrupt> interrupts) const;
    [[noreturn]] void throwToParent(Task& task) const;
    void pause(Status status, std::vector<Interrupt> interrupts);
    void showPause();
    bool touchesOutput(std::span<Task* const> tasks) const;

    // What is kept and told of a task, on its thread: records.cpp.
    void taskFinished(Task& task);
    void taskStopped(Task& task) noexcept;
    void prepareSingle(Task& task);
    void storeRecord(Task& task, bool finished);
    void note(std::string_view end);
    std::string noteRecord(std::string_view end) const;
    void takeCancels();
    bool storeCancel();
    void flush();
    bool mustNoteGoingOn() const;
    void flushQuietly() noexcept;
    std::string encodeRecord(Task& task, bool finished) const;

    // What observers are told: observation.cpp.
    void observeStart() noexcept;
    void observeEnd(Status status) noexcept;
    void observeFailure() noexcept;  // what is being handled
    void tellEnd(Ending ending, const std::vector<Interrupt>& interrupts, std::string_view error) noexcept;
    void tellFailure() noexcept;  // what is being handled
    void observeStored(CheckpointId before, std::int64_t step, std::chrono::steady_clock::time_point began) noexcept;
    void observeQuestions(const Task& task) noexcept;

    const detail::Core& core_;
    RunShared& shared_;
    const ParentLink* parent_;
    const std::shared_ptr<RunStop> run_stop_;
    Place place_;

    RunState state_;
    RunMemoryLoan memory_;
    Schedule& schedule_ = memory_->schedule;
    std::vector<PlannedTask>& plan_ = memory_->plan;  // of `schedule_`, as the checkpoint has it
    LogWriter& log_ = memory_->log;
    IdSequence ids_;
    CheckpointId head_at_begin_;  // of the log

    std::optional<Start> start_;          // until the first superstep has ended
    std::optional<Superstep> superstep_;  // the one under way, or that the run stopped in
    RunBreakpoints breakpoints_;
    SuperstepCount supersteps_;
    EndRow end_row_;
    detail::RunOutcome outcome_;
    Observation observation_;
};

inline TaskWatch::TaskWatch(Run& run, Task& task, int attempt) noexcept
    : run_(run), task_(task), attempt_(attempt), watches_(static_cast<bool>(run.observation())) {
    if (watches_) start();
}

/// A breakpoint or interrupts inside a subgraph, on their way to the task around it.
struct InnerPause {
    std::vector<Interrupt> interrupts;
    std::optional<std::int64_t> wake_unix_ms;  // if a task inside sleeps
};
/// A Command for the graph around, on its way there.
struct ParentCommandSignal {
    detail::TaskResult result;
    const detail::Schema* schema;  // whose channels it writes
    bool is_typed = false;         // it was written for the state of the graph around
};
/// Makes its writes those of the graph around it, whose node `node` is or called the graph that it comes from: channels' names count.
/// Errors: InvalidUpdateError.
void adoptCommand(ParentCommandSignal& signal, const detail::Schema& own, const Node& node);

}  // namespace stategraph::engine
