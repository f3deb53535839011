#include <algorithm>
#include <chrono>
#include <optional>

#include <stategraph/error.hpp>

#include "src/run/run.hpp"

// Ends a superstep: in a commit, a pause or a failure.
namespace stategraph::engine {

// Takes what the tasks wrote, and where they lead. Returns false if the run pauses instead. It is compiled into its
// caller, because calling it costs a superstep without a saver one in a hundred of its instructions.
[[gnu::always_inline]] inline bool Run::joinTasks() {
    const auto is_done = [](const Task* task) { return task->isDone(); };
    if (!std::ranges::all_of(env_.superstep->tasks(), is_done) && endUnfinished()) {
        if (env_.observation) env_.observation.superstepEnds(outcome_.status);
        return false;
    }
    const bool has_lasting = topology().has_lasting;
    if (has_lasting) findEndedVisits();  // called before the state changes, because the keys of visits are made from it
    if (!env_.superstep->isApplied()) applyAll();
    advanceAll();
    if (has_lasting) {
        for (const auto& visit : env_.memory->superstep.ended_visits) env_.schedule.setVisit(visit.log, visit.at);
    }
    return true;
}

void Run::storeSuperstep() {
    if (root_) env_.shared.refusal.checkFirst();
    env_.shared.refusal.check();
    for (Task* task : env_.superstep->todo()) {
        if (task->extra().inner_ids) env_.ids.observe(*task->extra().inner_ids);
    }
    try {
        if (!joinTasks()) return;
    } catch (const InvalidUpdateError&) {
        // No state can have what the tasks wrote, so it would fail in each run. A task's own failure is in its record.
        if (root_ && !env_.superstep->hasFailed()) root_->noteConflict(describedOrEmpty(std::current_exception()));
        throw;
    }
    commit(Source::loop);
    env_.superstep->setApplied(false);
}

void Run::applyAll() {
    WriteSet& writes = env_.memory->superstep.writes;
    const std::vector<Task*>& tasks = env_.superstep->tasks();
    if (tasks.size() == 1) {
        writes.assign(core().schema(), tasks.front()->result.writes, env_.nodeOf(*tasks.front()).name);
    } else {
        writes.clear();
        for (Task* task : tasks) writes.add(core().schema(), task->result.writes, env_.nodeOf(*task).name);
        writes.close(core().schema());
    }
    env_.applyTasksWrites();
}

void Run::leaveSuperstep() {
    if (isPaused()) return;
    if (env_.observation || env_.teller.any()) tellSuperstep();
    if (root_) {
        env_.shared.effects.clear();
        env_.shared.gates.clear();
    }
    const bool stops = breakpoints_.anyAfter() && hasRun(breakpoints_.after());
    env_.superstep.reset();
    if (start_) leaveStart();
    if (stops) pauseAtGate();
}

void Run::tellSuperstep() {
    if (env_.observation) env_.observation.superstepEnds(Status::done);
    if (env_.teller.any() && touchesOutput(env_.superstep->tasks())) env_.teller.values();
}

// Only the first superstep of a run has a start, so that its destruction is not compiled into each one's path.
[[gnu::noinline]] void Run::leaveStart() noexcept { start_.reset(); }

// The writes are in the state already; now the tasks' edges and routes fire.
void Run::advanceAll() {
    SuperstepMemory& memory = env_.memory->superstep;
    if (!memory.ending.empty()) endChannels(env_.state.values, memory.ending);
    // A task whose failure was handled leads only where its handler says.
    const auto routed = [](Task* task) {
        return Routed{task->record.failure ? no_node : task->planned.node, &task->routes};
    };
    const std::vector<Task*>& tasks = env_.superstep->tasks();
    if (tasks.size() == 1) {
        const Routed only = routed(tasks.front());
        advance(topology(), env_.schedule, {.consumed = env_.plan, .routed = {&only, 1}, .is_step = true});
        return;
    }
    memory.routed.clear();
    for (Task* task : tasks) memory.routed.push_back(routed(task));
    advance(topology(), env_.schedule, {.consumed = env_.plan, .routed = memory.routed, .is_step = true});
}

std::vector<std::exception_ptr> Run::otherFailures(const Task& than) const {
    std::vector<std::exception_ptr> others;
    for (const Task* task : env_.superstep->tasks()) {
        if (task != &than && task->progress.status() == TaskStatus::failed) others.push_back(task->extra().failure);
    }
    return others;
}

void Run::addOthers(Error& error, const Task& failed) const {
    if (core().options().on_failure == FailurePolicy::collect) error.addOthers(otherFailures(failed));
}

namespace {

// Collects why the tasks of a superstep cannot end it: the first task of each kind.
struct Unfinished {
    const Task* failed = nullptr;
    const Task* to_parent = nullptr;
    const Task* lost = nullptr;
    bool is_stopped = false;
    std::vector<Interrupt> interrupts = {};
    std::optional<std::chrono::system_clock::time_point> wake_at = {};

    explicit Unfinished(const std::vector<Task*>& tasks) {
        const auto first = [](const Task*& place, const Task* task) {
            if (place == nullptr) place = task;
        };
        for (const Task* task : tasks) {
            switch (task->progress.status()) {
                case TaskStatus::restored:
                case TaskStatus::finished:
                    break;
                case TaskStatus::due:
                case TaskStatus::under_way:
                    first(lost, task);
                    break;
                case TaskStatus::failed:
                    first(failed, task);
                    break;
                case TaskStatus::to_parent:
                    first(to_parent, task);
                    break;
                case TaskStatus::stopped:
                    is_stopped = true;
                    break;
                case TaskStatus::interrupted:
                    take(task->extra());
                    break;
            }
        }
    }

private:
    void take(const TaskExtra& extra) {
        is_stopped = true;
        if (extra.wake_at && (!wake_at || *extra.wake_at < *wake_at)) wake_at = extra.wake_at;
        interrupts.insert(interrupts.end(), extra.asked.begin(), extra.asked.end());
    }
};

}  // namespace

// Call it if a task is not done. Returns whether the superstep cannot end, because a task failed, asked a question, or
// has a Command for the outer graph. A failure counts first, then pauses. A superstep with a task whose end is unknown
// does not end either, because its driver was lost.
bool Run::endUnfinished() {
    Unfinished left(env_.superstep->tasks());
    outcome_.wake_at = left.wake_at;
    if (left.failed != nullptr) throwFailure(*left.failed, std::move(left.interrupts));
    if (left.lost != nullptr) {
        const std::string& node = env_.nodeOf(*left.lost).name;
        throw CancelledError("node '" + node +
                                 "' has not ended, and nothing runs it any more. Its superstep is not committed; its "
                                 "finished tasks are kept, and RESUME runs the others",
                             {.node = node, .step = env_.place.step});
    }
    if (left.is_stopped) {
        // A graph inside says what it asks, so that its questions are known; the root says that the run was stopped.
        const bool was_cut = root_ && env_.shared.was_cut;
        const Status status = left.interrupts.empty() || was_cut ? pauseWithoutQuestions() : Status::interrupted;
        const bool paused_itself =
            status == Status::interrupted || status == Status::breakpoint || status == Status::sleeping;
        // What is finished can only conflict again, and no answer resolves that. A run inside reports it when it
        // resumes, as in LangGraph.
        if (root_ && paused_itself && collectFinished()) env_.memory->superstep.writes.close(core().schema());
        pause(status, std::move(left.interrupts));
        return true;
    }
    if (left.to_parent != nullptr) throwToParent(const_cast<Task&>(*left.to_parent));
    return false;
}

void Run::throwFailure(const Task& failed, std::vector<Interrupt> interrupts) const {
    try {
        std::rethrow_exception(failed.extra().failure);
    } catch (NodeError& error) {  // without dynamic_cast, because a program without RTTI has errors of its own
        error.setInterrupts(std::move(interrupts));
        addOthers(error, failed);
        throw;
    } catch (Error& error) {
        addOthers(error, failed);
        throw;
    }
}

void Run::throwToParent(Task& task) const {
    if (root_) {
        throw InvalidUpdateError(
            "node '" + env_.nodeOf(task).name + "' returned a Command for the parent graph, and there is none",
            {.node = env_.nodeOf(task).name, .step = env_.place.step});
    }
    const detail::Schema* written = task.result.written;
    throw ParentCommandSignal{std::move(task.result), written != nullptr ? written : &core().schema(),
                              written != nullptr};
}

// Returns the status of a superstep without questions: where the inner runs stopped, or what stopped all of them.
Status Run::pauseWithoutQuestions() const {
    if (const auto status = env_.stopStatus()) return *status;
    if (outcome_.wake_at) return Status::sleeping;
    if (env_.shared.claim.isReplaced()) return Status::cancelled;
    // What stopped at a breakpoint waits for somebody, also if the rest was drained.
    const auto requested = env_.requestedEnd();
    return requested && !env_.shared.gates.anyStopIn(env_.place.ns) ? *requested : Status::breakpoint;
}

bool Run::touchesOutput(std::span<Task* const> tasks) const {
    if (!env_.teller.wants(StreamMode::values)) return false;
    return std::any_of(tasks.begin(), tasks.end(), [this](Task* task) {
        if (task->progress.status() == TaskStatus::to_parent) return false;  // it writes to the outer graph
        for (const detail::Op& op : task->result.writes) {                   // there are none unless it is done
            if (!env_.place.isInside() || core().returns(op.channel)) return true;
        }
        return false;
    });
}

}  // namespace stategraph::engine
