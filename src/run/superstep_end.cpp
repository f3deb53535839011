#include <algorithm>

#include <stategraph/error.hpp>

#include "src/run/run.hpp"

// How a superstep ends: in a commit, a pause or a failure.
namespace stategraph::engine {

// What the superstep's closed writes are goes into the state; what lives for one superstep ends after the routers have seen it.
void Run::applyTasksWrites() {
    SuperstepMemory& memory = memory_->superstep;
    state_.own();
    log_.noteChanges(state_.values, memory.writes, true);
    memory.ending.clear();
    if (!core_.schema().transient().empty()) findEnding(state_.values, memory.writes, memory.ending);
    const bool logs = log_.logsOperations() && !log_.snapshotIsDue();
    applyWrites(state_.values, memory.writes, memory.ending, logs ? &log_.operations() : nullptr);
    if (superstep_) superstep_->setApplied(true);
}

void Run::endSuperstep() {
    for (Task* task : superstep_->todo()) {
        if (task->extra().inner_ids) ids_.observe(*task->extra().inner_ids);
    }
    if (endUnfinished()) {
        if (observation_) observation_.superstepEnds(endingOf(outcome_.status));
        return;
    }
    const bool has_lasting = topology().has_lasting;
    if (has_lasting) findEndedVisits();  // before the state changes, which their keys are made of
    if (!superstep_->isApplied()) {
        WriteSet& writes = memory_->superstep.writes;
        writes.clear();
        for (Task* task : superstep_->tasks()) writes.add(core_.schema(), task->result.writes, nodeOf(*task).name);
        writes.close(core_.schema());
        applyTasksWrites();
    }
    advanceAll();
    if (has_lasting) {
        for (const auto& visit : memory_->superstep.ended_visits) schedule_.setVisit(visit.log, visit.at);
    }
    commit(Source::loop);
    superstep_->setApplied(false);
    if (observation_) observation_.superstepEnds(Ending::done);
    if (shared_.events->any() && touchesOutput(superstep_->tasks())) shared_.events->values(*this);
    if (parent_ == nullptr) shared_.effects.clear();
    const bool stops = breakpoints_.after().any() && stopsAt(breakpoints_.after());
    superstep_.reset();
    start_.reset();
    if (stops) pause(Status::breakpoint, {});
}

// The writes are in the state: the tasks' edges and routes fire.
void Run::advanceAll() {
    SuperstepMemory& memory = memory_->superstep;
    if (!memory.ending.empty()) endChannels(state_.values, memory.ending);
    memory.routed.clear();
    // A handled task leads only where its handler says.
    for (Task* task : superstep_->tasks()) memory.routed.push_back({task->record.failure ? no_node : task->planned.node, &task->routes});
    advance(topology(), schedule_, {.consumed = plan_, .routed = memory.routed, .is_step = true});
}

void Run::addOthers(Error& error, const Task& failed) const {
    if (core_.options().on_failure == FailurePolicy::collect) error.addOthers(otherFailures(failed));
}

namespace {

// How the tasks of a superstep ended that cannot end itself: the first of each kind.
struct Unfinished {
    const Task* failed = nullptr;
    const Task* to_parent = nullptr;
    const Task* lost = nullptr;
    bool is_stopped = false;
    std::vector<Interrupt> interrupts = {};
    std::optional<std::int64_t> wake_unix_ms = {};

    explicit Unfinished(const std::vector<Task*>& tasks) {
        const auto first = [](const Task*& place, const Task* task) {
            if (place == nullptr) place = task;
        };
        for (const Task* task : tasks) {
            switch (task->progress.status()) {
                case TaskStatus::restored:
                case TaskStatus::finished: break;
                case TaskStatus::due:
                case TaskStatus::under_way: first(lost, task); break;
                case TaskStatus::failed: first(failed, task); break;
                case TaskStatus::to_parent: first(to_parent, task); break;
                case TaskStatus::stopped: is_stopped = true; break;
                case TaskStatus::interrupted: take(task->extra()); break;
            }
        }
    }

private:
    void take(const TaskExtra& extra) {
        is_stopped = true;
        if (extra.wake_unix_ms && (!wake_unix_ms || *extra.wake_unix_ms < *wake_unix_ms)) wake_unix_ms = extra.wake_unix_ms;
        interrupts.insert(interrupts.end(), extra.asked.begin(), extra.asked.end());
    }
};

}  // namespace

// Whether the superstep cannot end, because a task failed, asked, or speaks for another graph. A failure comes first, then pauses.
// A superstep with a task of which no end is known does not end either: its driver was lost.
bool Run::endUnfinished() {
    if (std::ranges::all_of(superstep_->tasks(), [](const Task* task) { return task->isDone(); })) return false;
    Unfinished left(superstep_->tasks());
    outcome_.wake_unix_ms = left.wake_unix_ms;
    if (left.failed != nullptr) throwFailure(*left.failed, std::move(left.interrupts));
    if (left.lost != nullptr) {
        const std::string& node = nodeOf(*left.lost).name;
        throw CancelledError("node '" + node + "' has not come to an end, and nobody runs it any more. Its superstep is not committed; "
                             "what is finished of it is kept, and RESUME runs the rest",
                             {.node = node, .step = place_.step});
    }
    if (left.is_stopped) {
        const Status status = left.interrupts.empty() ? pauseWithoutQuestions() : Status::interrupted;  // before the move
        const bool paused_itself = status == Status::interrupted || status == Status::breakpoint || status == Status::sleeping;
        // What is finished can only conflict again: no answer mends that. A run inside says so when it resumes, as in LangGraph.
        if (parent_ == nullptr && paused_itself && collectFinished()) memory_->superstep.writes.close(core_.schema());
        pause(status, std::move(left.interrupts));
        return true;
    }
    if (left.to_parent != nullptr) throwToParent(const_cast<Task&>(*left.to_parent));
    return false;
}

void Run::throwFailure(const Task& failed, std::vector<Interrupt> interrupts) const {
    try {
        std::rethrow_exception(failed.extra().failure);
    } catch (NodeError& error) {  // no dynamic_cast: a program without RTTI has errors of its own without it
        error.setInterrupts(std::move(interrupts));
        addOthers(error, failed);
        throw;
    } catch (Error& error) {
        addOthers(error, failed);
        throw;
    }
}

void Run::throwToParent(Task& task) const {
    if (parent_ == nullptr) {
        throw InvalidUpdateError("node '" + nodeOf(task).name + "' returned a Command for the parent graph, and there is none",
                                 {.node = nodeOf(task).name, .step = place_.step});
    }
    const detail::Schema* written = task.result.written;
    throw ParentCommandSignal{std::move(task.result), written != nullptr ? written : &core_.schema(), written != nullptr};
}

// Of a superstep that nobody asked in: what the runs inside stopped at, or what stopped all of them.
Status Run::pauseWithoutQuestions() const {
    if (const auto status = stopStatus()) return *status;
    if (outcome_.wake_unix_ms) return Status::sleeping;
    if (shared_.claim.isReplaced()) return Status::cancelled;
    return run_stop_ && run_stop_->drains() ? Status::drained : Status::breakpoint;
}

bool Run::touchesOutput(std::span<Task* const> tasks) const {
    if (!shared_.events->wants(StreamMode::values, *this)) return false;
    return std::any_of(tasks.begin(), tasks.end(), [this](Task* task) {
        if (task->progress.status() == TaskStatus::to_parent) return false;  // it writes to the graph around
        for (const detail::Op& op : task->result.writes) {       // none unless it is done
            if (!place_.isInside() || core_.returns(op.channel)) return true;
        }
        return false;
    });
}

}  // namespace stategraph::engine
