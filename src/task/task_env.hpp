#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
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
#include "src/task/run_memory.hpp"
#include "src/task/run_shared.hpp"

namespace stategraph::engine {

class TaskEnv;

/// A graph that a task's node calls (GraphCall).
struct CalledGraph {
    TaskId caller;  // the task, or what names its error handler
    TaskId id;      // the call's
    std::string_view key;
    std::shared_ptr<RunStop> stop = {};
};

/// How a run inside a task hangs on the run around it.
struct ParentLink {
    TaskEnv* env;  // of the run around
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

    /// An abandoned attempt keeps what it reads. From any thread.
    void leave() noexcept { is_left_.store(true); }
    /// Before the values change.
    void own() {
        if (!is_left_.load(std::memory_order_relaxed))
            return;  // the common case; the thread that sets it has ended or was waited for
        is_left_.store(false, std::memory_order_relaxed);
        values.separate();
    }

private:
    std::atomic<bool> is_left_ = false;
};

/// How many supersteps a run may take, and has begun.
struct SuperstepCount {
    int limit;
    int begun = 0;
    int remaining() const noexcept {
        return begun > 0 ? limit - begun + 1 : std::min(limit, std::numeric_limits<int>::max() - 1) + 1;
    }
};

/// What the tasks of a run work with. The run owns it, and changes it while none of them runs; they read it on any
/// thread. What a task itself changes is said so.
class TaskEnv {
public:
    /// `place`: where the state is to be (State); null: in an object of its own.
    TaskEnv(const detail::Core& core, RunShared& shared, const ParentLink* link, void* place);
    TaskEnv(const TaskEnv&) = delete;
    TaskEnv& operator=(const TaskEnv&) = delete;

    // As long as the run. The run changes the place and the state, which its log refers to.
    RunShared& shared;
    const ParentLink* const link;  // to the run around; null: it is the root
    const std::shared_ptr<RunStop>
        stop;  // what may end it; null: nothing. The root's, or that of a call which a node's limits may end as well
    // Whether it is part of a task that others may wait for (Flight). A task leads before a run inside it is made.
    const bool is_inside_flight;
    Place place;
    RunState state;
    RunMemoryLoan memory;
    Schedule& schedule = memory->schedule;
    std::vector<PlannedTask>& plan = memory->plan;  // of `schedule`, as the checkpoint has it
    LogWriter& log = memory->log;                   // records of tasks are put from any thread
    IdSequence ids;
    RunTimes times;
    SuperstepCount supersteps;
    std::optional<Superstep> superstep = {};  // the one under way, or that the run stopped in

    // Where tasks report what they do, from any thread.
    Teller teller;
    Observation observation;

    const detail::Core& core() const noexcept { return place.core; }
    const Topology& topology() const noexcept { return place.topology(); }
    const Node& nodeOf(const Task& task) const noexcept { return place.nodeOf(task); }
    TaskId idOf(Task& task) const { return place.idOf(task); }
    const PendingSend* sendOf(const Task& task) const noexcept { return engine::sendOf(schedule, task); }
    bool hasSaver() const noexcept { return log.hasSaver(); }
    /// Whether the log is to say how long things took.
    bool measures() const noexcept { return times.measures() && hasSaver(); }
    /// Of the outermost run.
    TaskEnv& root() noexcept;
    const TaskEnv& root() const noexcept { return const_cast<TaskEnv&>(*this).root(); }
    /// Why the run is to end immediately, if it is.
    std::optional<Status> stopStatus() const { return stop ? stop->requested() : std::nullopt; }
    /// Whether nodes are called in a way that allows abandoning them.
    bool callsApart(const Node& node) const noexcept { return stop != nullptr || node.limits.any(); }
    /// Whether tasks are neither stored nor reported, except to observers.
    bool isQuiet() const noexcept { return !hasSaver() && !teller.any(); }
    /// Whether no more of the superstep's tasks are to be begun.
    bool startsNoMore() const noexcept {
        return core().options().on_failure == FailurePolicy::cancel_siblings && superstep->hasFailed();
    }
    /// The graph's store, or that of the nearest graph around it that has one; null if none has.
    std::shared_ptr<BaseStore> store() const noexcept;

    /// How a run inside a task begins: a later attempt resumes where the previous one failed.
    InnerStart startInside(bool is_first) const noexcept;
    /// The stop of the run inside a task, if the way of this run leads into it.
    const TravelStop* nextStop(const Task& task, std::string_view key) const;
    /// Whether the log lives with the thread.
    bool isPerThread() const noexcept;
    VisitFrom visitFrom() const noexcept { return {place.ns, place.checkpoint, log.stored()}; }

    /// Keeps what is known of an effect of one of this run's tasks: in the outermost log, under the superstep that the
    /// task belongs to.
    void storeEffect(const std::string& path, Effects::Entry entry);

    // Storing and reporting a task, on its thread: records.cpp.

    /// Of the one task of a superstep, before its writes are applied.
    void prepareSingle(Task& task);
    /// The superstep's writes, which are closed, go into the state.
    void applyTasksWrites();
    /// Out of it again, after that.
    void takeBackWrites() noexcept;
    void taskFinished(Task& task);
    void taskStopped(Task& task) noexcept;
    void storeRecord(Task& task, bool finished);
    /// What a task fails with whose node, or a function of the node's, threw `original`, which is the user's.
    NodeError nodeError(Task& task, std::string text, std::exception_ptr original = std::current_exception()) const;
    void observeRetry(Task& task, int attempt, std::chrono::duration<double, std::milli> wait) const noexcept;

private:
    std::string encodeRecord(Task& task, bool finished) const;
    void noteTimes(Task& task) const;
    void observeQuestions(const Task& task) const noexcept;
};

/// A breakpoint or interrupts inside a subgraph, on their way to the task around it.
struct InnerPause {
    std::vector<Interrupt> interrupts;
    std::optional<std::chrono::system_clock::time_point> wake_at;  // if a task inside sleeps
};
/// A Command for the graph around, on its way there.
struct ParentCommandSignal {
    detail::TaskResult result;
    const detail::Schema* schema;  // whose channels it writes
    bool is_typed = false;         // it was written for the state of the graph around
};
/// Makes its writes those of the graph around it, whose node `node` is or called the graph that it comes from:
/// channels' names count. Errors: InvalidUpdateError.
void adoptCommand(ParentCommandSignal& signal, const detail::Schema& own, const Node& node);

}  // namespace stategraph::engine
