#include <algorithm>
#include <tuple>

#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/run/run.hpp"

// Runs one superstep: from the plan to the commit, the pause or the failure that ends it.
namespace stategraph::engine {

// Call it if the run has input to take. If the superstep of START is neither reported nor stored, it consists only of
// the input's writes and START's edges, and needs no task.
bool Run::startsQuietly() const noexcept {
    if (env_.plan.size() != 1 || hasSaver() || env_.stop != nullptr || env_.teller.any() || env_.observation)
        return false;
    return topology().nodes[topology().start].branches.empty() && !core().preparesWrites();
}

void Run::startQuietly() {
    WriteSet& writes = env_.memory->superstep.writes;
    writes.clear();
    writes.add(core().schema(), env_.schedule.input, topology().nodes[topology().start].name);
    writes.close(core().schema());
    env_.applyTasksWrites();
    if (!env_.memory->superstep.ending.empty()) endChannels(env_.state.values, env_.memory->superstep.ending);
    Routes routes;
    const Routed start{topology().start, &routes};
    advance(topology(), env_.schedule, {.consumed = env_.plan, .routed = {&start, 1}, .is_step = true});
    commit(Source::loop);
    start_.reset();
}

// Returns the metadata of the run that created the checkpoint whose tasks are next.
std::string_view Run::checkpointMetadata() const noexcept {
    const bool is_loaded = start_ && start_->from && env_.place.checkpoint == start_->from->commit.id;
    return is_loaded ? start_->from->commit.metadata : std::string_view(env_.shared.metadata);
}

bool Run::next() {
    const bool tells = env_.teller.any();  // which stays the same for the whole run
    if (root_ && tells) env_.shared.events->at(env_.place.checkpoint);
    env_.superstep.reset();
    if (env_.schedule.has_input && startsQuietly()) startQuietly();
    SuperstepMemory& memory = env_.memory->superstep;
    memory.use(env_.plan);
    Superstep& superstep = env_.superstep.emplace(memory, start_ ? &*start_ : nullptr);
    const std::vector<Task*>& tasks = superstep.tasks();
    if (hasSaver()) env_.teller.checkpoint(tasks, checkpointMetadata());
    if (start_ && root_ && hasSaver()) {
        root_->takeCancels();
        if (core().spec().hears_abandoned) hearAbandoned();
    }
    if (tasks.empty()) return false;
    if ((env_.stop != nullptr || env_.shared.claim.isReplaced()) && endsFromOutside()) return false;
    prepareTasks();
    if (!superstep.todo().empty()) {  // otherwise all results are there, and are to be committed
        env_.limits.checkBefore(env_);
        if (breakpoints_.anyBefore() && stopsAtGate()) return false;
        if (const auto end = env_.requestedEnd()) {
            pause(*end, {});
            return false;
        }
    }
    const bool only_start = env_.plan.size() == 1 && env_.plan.front().node == topology().start;
    if (!only_start) env_.limits.beginSuperstep();
    // The reader of events may have spent some time since the commit.
    if (env_.measures()) env_.times.beginSuperstep(tells);
    if (superstep.todo().empty()) {
        if (env_.observation) env_.observation.superstepStarts(env_.place.step, tasks.size(), tasks.size());
        return true;
    }
    if (topology().has_keys) prepareVisits();
    if (tells) {
        for (Task* task : tasks) env_.teller.taskStarts(*task);
    }
    if (env_.observation)
        env_.observation.superstepStarts(env_.place.step, tasks.size(), tasks.size() - superstep.todo().size());
    if (env_.stop != nullptr || topology().has_limits) env_.state.values.share();
    return true;
}

bool Run::endsFromOutside() {
    std::optional<Status> end = env_.stopStatus();
    if (!end && env_.shared.claim.isReplaced()) end = Status::cancelled;
    if (!end) return false;
    if (env_.link != nullptr) env_.noteCut();  // its own task in the graph around it has been ended by the stop
    pause(*end, {});
    return true;
}

// Returns whether the run stops at a breakpoint before the superstep.
bool Run::stopsAtGate() {
    if ((start_ && start_->is_behind_gates) || !isDue(breakpoints_.before())) return false;
    pauseAtGate();
    return true;
}

void Run::pauseAtGate() {
    env_.shared.gates.noteStop(env_.place.ns, env_.place.checkpoint);
    pause(Status::breakpoint, {});
}

// Gives the tasks what is stored about them. Tasks that an earlier run finished do not run again.
void Run::prepareTasks() {
    const std::vector<Task*>& tasks = env_.superstep->tasks();
    std::vector<Task*>& todo = env_.superstep->todo();
    if (start_ && !start_->records.empty()) {
        restoreTasks();
    } else if (tasks.size() == 1) {
        todo.push_back(tasks.front());
    } else {
        todo = tasks;
    }
    if (todo.size() > 1) orderTasks();
}

void Run::restoreTasks() {
    for (Task* task : env_.superstep->tasks()) {
        const auto* fields = start_->records.find(pathOf(topology(), task->planned));
        if (fields != nullptr) restoreTask(*task, *fields);
    }
    for (Task* task : env_.superstep->tasks()) {
        if (task->isDone()) {
            env_.teller.emit(env_.teller.update(*task, true));
        } else {
            env_.superstep->todo().push_back(task);
        }
    }
}

// Tasks begin in LangGraph's order: sends first, then triggered nodes. Subgraphs come last, so that events of single
// nodes do not wait for whole runs.
void Run::orderTasks() {
    std::vector<Task*>& todo = env_.superstep->todo();
    env_.memory->superstep.in_turn.reserve(todo.size());
    const auto place = [this](const Task* task) {
        return 2 * env_.nodeOf(*task).subgraph.has_value() + !task->planned.is_send;
    };
    const auto before = [&](const Task* a, const Task* b) { return place(a) < place(b); };
    if (!std::is_sorted(todo.begin(), todo.end(), before))
        std::stable_sort(todo.begin(), todo.end(), before);  // std::stable_sort allocates
}

// Determines the logs of subgraphs with keys before the first of them begins, because no two may continue the same log.
void Run::prepareVisits() {
    std::vector<Task*> visits;
    for (Task* task : env_.superstep->todo()) {
        const Node& node = env_.nodeOf(*task);
        if (!hasKeys(node)) continue;
        task->useExtra().visit = std::make_unique<Visit>();
        try {
            makeVisit(core().schema(), node, env_.state.values, env_.sendOf(*task), *task->extra().visit);
            visits.push_back(task);
        } catch (...) {
            task->extra().visit->failure = std::current_exception();
        }
    }
    const auto place = [](const Task* task) { return std::tie(task->planned.node, task->extra().visit->key); };
    std::sort(visits.begin(), visits.end(), [&](const Task* a, const Task* b) { return place(a) < place(b); });
    for (std::size_t i = 1; i < visits.size(); ++i) {
        if (place(visits[i - 1]) != place(visits[i])) continue;
        visits[i - 1]->extra().visit->is_doubled = true;
        visits[i]->extra().visit->is_doubled = true;
    }
}

void Run::restoreTask(Task& task, const checkpoint::TaskFields& fields) {
    const auto copy = [](const std::vector<checkpoint::LoggedInterrupt>& from, std::vector<Interrupt>& to) {
        for (const auto& each : from)
            to.push_back({each.id, each.index, Value::fromCbor(std::string(each.value)), std::string(each.key)});
    };
    task.record.stored = true;
    if (!fields.writes || start_->reruns())
        task.useExtra().stored_record = start_->stored(pathOf(topology(), task.planned));
    if (fields.error) task.record.error = std::string(*fields.error);
    const bool reruns = start_->reruns();
    const bool asks_again = start_->travels();
    if (fields.failure && !reruns) restoreFailure(task, *fields.failure, fields.writes.has_value());
    copy(fields.interrupts, task.record.interrupts);
    if (!reruns) {
        task.record.took = fields.took;
        task.record.attempts = fields.attempts;
    }
    if (!asks_again) {
        copy(fields.answers, task.record.answers);
        task.record.sortAnswers();
    }
    if (reruns) {
        // The task runs again. What it wrote before must not be found if this process dies.
        if (fields.writes || fields.failure || (asks_again && !fields.answers.empty())) env_.storeRecord(task, false);
        return;
    }
    if (!fields.writes) return;
    restoreResult(topology(), core().schema(), fields, task.result.writes, task.routes);
    task.progress.end(TaskStatus::restored);
}

// If the node no longer has an error handler, the node itself runs again.
void Run::restoreFailure(Task& task, const checkpoint::LoggedFailure& failure, bool is_done) const {
    const Node& node = env_.nodeOf(task);
    constexpr std::uint64_t most = 1'000'000'000;
    if (!node.on_error && !is_done) return;
    task.record.failure = NodeFailure{.node = node.name,
                                      .error = std::string(failure.text),
                                      .attempts = static_cast<int>(std::min(failure.attempts, most))};
}

// After a driver was destroyed: tasks that were under way are due again, and those that have ended stay as they are.
void Run::takeUpLeft() noexcept {
    std::erase_if(env_.superstep->todo(), [this](Task* task) {
        task->progress.leave();
        if (!task->progress.hasEnded()) return false;
        if (task->extra().inner_ids) env_.ids.observe(*task->extra().inner_ids);
        return true;
    });
}

// Returns whether one of the nodes is due next, or, for `hasRun`, had a task in the superstep.
bool Run::isDue(const Breakpoints& breakpoints) const noexcept {
    return std::ranges::any_of(env_.plan, [&](const PlannedTask& planned) {
        return planned.node != topology().start && breakpoints.has(planned.node);
    });
}

bool Run::hasRun(const Breakpoints& breakpoints) const noexcept {
    return std::ranges::any_of(env_.superstep->tasks(), [&](const Task* task) {
        return task->planned.node != topology().start && breakpoints.has(task->planned.node);
    });
}

}  // namespace stategraph::engine
