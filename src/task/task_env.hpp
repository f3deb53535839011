#pragma once
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/error.hpp>

#include "src/commit/ids.hpp"
#include "src/commit/run_times.hpp"
#include "src/commit/visit.hpp"
#include "src/step/place.hpp"
#include "src/step/start.hpp"
#include "src/step/superstep.hpp"
#include "src/stream/observation.hpp"
#include "src/stream/teller.hpp"
#include "src/task/run_limits.hpp"
#include "src/task/run_memory.hpp"
#include "src/task/run_shared.hpp"

namespace stategraph::engine {

class EffectPut;
class TaskEnv;

/// A graph that a task's node calls (GraphCall).
struct CalledGraph {
    TaskId caller;  // the task, or the name of its error handler
    TaskId id;      // the call's id
    std::string_view key;
    std::shared_ptr<RunStop> stop = {};
};

/// Connects a run inside a task with the run around it.
struct ParentLink {
    TaskEnv* env;  // of the outer run
    Task* task;
    InnerStart start;
    /// The task's key, which selects one of the subgraph's logs; empty if there is only one.
    std::string_view key = {};
    /// The checkpoint at which the run begins; null means the newest.
    const TravelStop* stop = nullptr;
    /// Null if the task is a subgraph's visit.
    const CalledGraph* call = nullptr;
};

/// The state that a run works on.
struct RunState {
    RunState(const detail::Schema& schema, void* place) : values(schema, place) {}

    State values;

    /// Leaves the state to an abandoned attempt, which may still read it. Safe from any thread.
    void leave() noexcept { is_left_.store(true); }
    /// Call it before the values change.
    void own() {
        if (!is_left_.load(std::memory_order_relaxed))
            return;  // the common case; the thread that sets it has ended or was waited for
        is_left_.store(false, std::memory_order_relaxed);
        values.separate();
    }

private:
    std::atomic<bool> is_left_ = false;
};

/// What the tasks of a run work with. The run owns it, and changes it while none of them runs; they read it on any
/// thread. Members that a task itself changes say so.
class TaskEnv {
public:
    /// `place` is where the state is created (State); null means in an object of its own.
    TaskEnv(const detail::Core& core, RunShared& shared, const ParentLink* link, void* place);
    TaskEnv(const TaskEnv&) = delete;
    TaskEnv& operator=(const TaskEnv&) = delete;

    // The following exist as long as the run. The run changes the place and the state, to which its log refers.
    RunShared& shared;
    const ParentLink* const link;  // to the outer run; null if this is the root
    const std::shared_ptr<RunStop>
        stop;  // what may end it, or null: the root's, or that of a call, which a node's limits may end too
    Place place;
    RunState state;
    RunMemoryLoan memory;
    Schedule& schedule = memory->schedule;
    std::vector<PlannedTask>& plan = memory->plan;  // of `schedule`, as of the checkpoint
    LogWriter& log = memory->log;                   // records of tasks are put from any thread
    IdSequence ids;
    RunTimes times;
    RunLimits limits;
    std::optional<Superstep> superstep = {};  // the current one, or the one in which the run stopped

    // Tasks report their progress to these, from any thread.
    Teller teller;
    Observation observation;

    const detail::Core& core() const noexcept { return place.core; }
    const Topology& topology() const noexcept { return place.topology(); }
    const Node& nodeOf(const Task& task) const noexcept { return place.nodeOf(task); }
    TaskId idOf(Task& task) const { return place.idOf(task); }
    const PendingSend* sendOf(const Task& task) const noexcept { return engine::sendOf(schedule, task); }
    bool hasSaver() const noexcept { return log.hasSaver(); }
    /// Returns whether the log contains durations.
    bool measures() const noexcept { return times.measures() && hasSaver(); }
    /// Returns the environment of the outermost run.
    TaskEnv& root() noexcept;
    const TaskEnv& root() const noexcept { return const_cast<TaskEnv&>(*this).root(); }
    /// Returns why the run is to end immediately; none if it is not.
    std::optional<Status> stopStatus() const { return stop ? stop->requested() : std::nullopt; }
    /// Returns how the run is to end before its next superstep; none if it may continue.
    std::optional<Status> requestedEnd() const noexcept {
        const Status asked = shared.asked_end.load(std::memory_order_relaxed);
        if (asked != Status::done) return asked;
        return stop != nullptr && stop->drains() ? std::optional(Status::drained) : std::nullopt;
    }
    /// Has the whole run end so, for a task. The first request counts. Safe from any thread.
    void requestEnd(Status end) noexcept {
        Status none = Status::done;
        shared.asked_end.compare_exchange_strong(none, end);
    }
    /// Call it when what is due is not done because of a stop. Only a stop of the whole run counts: the time limit of a
    /// call of a graph ends the call, and the run continues.
    void noteCut() noexcept;
    /// Returns whether nodes are called in a way that allows abandoning them.
    bool callsApart(const Node& node) const noexcept { return stop != nullptr || node.limits.any(); }
    /// Returns whether tasks are neither stored nor reported, except to observers.
    bool isQuiet() const noexcept { return !hasSaver() && !teller.any(); }
    /// Returns whether no more of the superstep's tasks are to be begun.
    bool startsNoMore() const noexcept {
        if (shared.refusal.isNoted()) return true;
        return core().options().on_failure == FailurePolicy::cancel_siblings && superstep->hasFailed();
    }
    /// Returns the graph's store, or that of the nearest graph around it that has one; null if none has.
    std::shared_ptr<BaseStore> store() const noexcept;

    /// Returns how a run inside a task begins: a later attempt resumes where the previous one failed.
    InnerStart startInside(bool is_first) const noexcept;
    /// Returns the stop of the run inside a task, if this run's time travel leads into it.
    const TravelStop* nextStop(const Task& task, std::string_view key) const;
    /// Returns whether the log lives with the thread.
    bool isPerThread() const noexcept;
    VisitFrom visitFrom() const noexcept { return {place.ns, place.checkpoint, log.stored()}; }

    /// Stores what is known about an effect of one of this run's tasks: in the outermost log, under the superstep to
    /// which the task belongs.
    void storeEffect(const std::string& path, Effects::Entry entry);
    /// The same without waiting, if the outermost log is awaited: returns the put, which a coroutine awaits. Otherwise
    /// it stores it, and returns null. It waits for the commits of logs inside that log in any case.
    std::shared_ptr<EffectPut> storeEffectLater(const std::string& path, Effects::Entry entry);

    // The following store and report a task, on its thread; they are in records.cpp.

    /// Call it for the single task of a superstep, before its writes are applied.
    void prepareSingle(Task& task);
    /// Applies the superstep's writes, which are closed, to the state.
    void applyTasksWrites();
    /// Removes them from the state again.
    void takeBackWrites() noexcept;
    void taskFinished(Task& task);
    void taskStopped(Task& task) noexcept;
    void storeRecord(Task& task, bool finished);
    /// Returns the error with which a task fails if its node, or a function of the node, threw the user's exception
    /// `original`.
    NodeError nodeError(Task& task, std::string text, std::exception_ptr original = std::current_exception()) const;
    void observeRetry(Task& task, int attempt, std::chrono::duration<double, std::milli> wait) const noexcept;

private:
    TaskEnv& waitForInnerCommits();
    std::string encodeEffect(const Effects::Entry& entry) const;
    std::string encodeRecord(Task& task, bool finished) const;
    void noteTimes(Task& task) const;
    void observeQuestions(const Task& task) const noexcept;
};

/// A breakpoint or questions inside a subgraph, thrown to the task around it.
struct InnerPause {
    std::vector<Interrupt> interrupts;
    std::optional<std::chrono::system_clock::time_point> wake_at;  // set if a task inside sleeps
};
/// A Command for the outer graph, thrown to it.
struct ParentCommandSignal {
    detail::TaskResult result;
    const detail::Schema* schema;  // the schema of the channels that it writes
    bool is_typed = false;         // whether it was written for the state of the outer graph
};
/// Turns its writes into writes of the outer graph; channels are matched by their names. `node` is the outer graph's
/// node that is, or called, the graph from which the Command comes. Errors: InvalidUpdateError.
void adoptCommand(ParentCommandSignal& signal, const detail::Schema& own, const Node& node);

}  // namespace stategraph::engine
