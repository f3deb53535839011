#include <algorithm>
#include <tuple>

#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/run/run.hpp"

// One superstep of a run: from the plan to the commit, or to the pause or failure it ends in.
namespace stategraph::engine {

// What is inside a run goes on where it was in the first superstep only. But a graph without a log that is run again begins from its beginning,
// and each of its supersteps may be one that was there before.
InnerStart Run::startInside() const noexcept {
    if (start_) return start_->inside;
    return {.resuming = parent_ != nullptr && parent_->start.resuming && !hasSaver()};
}

// Where nobody is told of START's superstep, or stores it, that is its input's writes and its edges: no task is needed.
bool Run::startsQuietly() const noexcept {
    if (!schedule_.has_input || plan_.size() != 1 || hasSaver() || run_stop_ != nullptr || shared_.events->any() || observation_) return false;
    return topology().nodes[topology().start].branches.empty() && !core_.preparesWrites();
}

void Run::startQuietly() {
    WriteSet& writes = memory_->superstep.writes;
    writes.clear();
    writes.add(core_.schema(), schedule_.input, topology().nodes[topology().start].name);
    writes.close(core_.schema());
    applyTasksWrites();
    endChannels(state_.values, memory_->superstep.ending);
    Routes routes;
    const Routed start{topology().start, &routes};
    advance(topology(), schedule_, {.consumed = plan_, .routed = {&start, 1}, .is_step = true});
    commit(Source::loop);
    start_.reset();
}

bool Run::next() {
    if (parent_ == nullptr && shared_.events->any()) shared_.events->at(place_.checkpoint);
    superstep_.reset();
    if (startsQuietly()) startQuietly();
    Superstep& superstep = superstep_.emplace(memory_->superstep, plan_, start_ ? &*start_ : nullptr, startInside());
    const std::vector<Task*>& tasks = superstep.tasks();
    if (hasSaver()) shared_.events->checkpoint(*this, place_.source, place_.step - 1, tasks);
    if (start_ && parent_ == nullptr && hasSaver()) takeCancels();
    if (tasks.empty()) return false;
    if ((run_stop_ != nullptr || shared_.claim.isReplaced()) && endsFromOutside()) return false;
    countSuperstep();
    prepareTasks();
    if (superstep.todo().empty()) {
        if (observation_) observation_.superstepStarts(place_.step, tasks.size(), tasks.size());
        return true;
    }
    const bool may_stop = !start_ || !start_->goesOn();
    if (may_stop && breakpoints_.before().any() && stopsAt(breakpoints_.before())) {
        pause(Status::breakpoint, {});
        return false;
    }
    if (topology().has_keys) prepareVisits();
    if (shared_.events->any()) {
        for (Task* task : tasks) shared_.events->taskStarts(*this, *task);
    }
    if (observation_) observation_.superstepStarts(place_.step, tasks.size(), tasks.size() - superstep.todo().size());
    if (run_stop_ != nullptr || topology().has_limits) state_.values.share();
    return true;
}

void Run::countSuperstep() {
    if (supersteps_.begun == supersteps_.limit) {
        end_row_.if_it_throws = checkpoint::run_at_limit;
        const std::string& next = nodeOf(*superstep_->tasks().front()).name;
        throw GraphRecursionError("the run took " + std::to_string(supersteps_.limit) + " supersteps and is not done; node '" + next +
                                      "' is next. Raise recursion_limit, or find what goes round in circles; the thread can go on with RESUME",
                                  {.node = next, .step = place_.step});
    }
    const bool only_start = plan_.size() == 1 && plan_.front().node == topology().start;
    if (!only_start) ++supersteps_.begun;
}

bool Run::endsFromOutside() {
    std::optional<Status> end = stopStatus();
    if (!end && shared_.claim.isReplaced()) end = Status::cancelled;
    if (!end && run_stop_ && run_stop_->drains()) end = Status::drained;
    if (end) pause(*end, {});
    return end.has_value();
}

// Gives the tasks what is stored of them; those that an earlier run finished are not run again.
void Run::prepareTasks() {
    std::vector<Task*>& todo = superstep_->todo();
    if (start_ && !start_->records.empty()) {
        for (Task* task : superstep_->tasks()) {
            const auto* fields = start_->records.find(pathOf(topology(), task->planned));
            if (fields != nullptr) restoreTask(*task, *fields);
        }
    }
    for (Task* task : superstep_->tasks()) {
        if (task->isDone()) {
            shared_.events->emit(shared_.events->update(*this, *task, true));
        } else {
            todo.push_back(task);
        }
    }
    // They begin as in LangGraph: sends first, then triggered nodes; and subgraphs last, so that what single nodes have to say does
    // not wait behind whole runs.
    if (todo.size() > 1) {
        memory_->superstep.in_turn.reserve(todo.size());
        const auto place = [this](const Task* task) { return 2 * nodeOf(*task).subgraph.has_value() + !task->planned.is_send; };
        const auto before = [&](const Task* a, const Task* b) { return place(a) < place(b); };
        if (!std::is_sorted(todo.begin(), todo.end(), before)) std::stable_sort(todo.begin(), todo.end(), before);  // it allocates
    }
}

// Which logs the subgraphs with keys are to go on with, found before the first of them begins, as no two may go on with the same.
void Run::prepareVisits() {
    std::vector<Task*> visits;
    for (Task* task : superstep_->todo()) {
        const Node& node = nodeOf(*task);
        if (!hasKeys(node)) continue;
        task->useExtra().visit = std::make_unique<Visit>();
        try {
            makeVisit(core_.schema(), node, state_.values, sendOf(*task), *task->extra().visit);
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
        for (const auto& each : from) to.push_back({each.id, each.index, Value::fromCbor(std::string(each.value)), std::string(each.key)});
    };
    task.record.stored = true;
    if (fields.error) task.record.error = std::string(*fields.error);
    const bool reruns = start_->reruns();
    const bool asks_again = start_->travels();
    if (fields.failure && !reruns) restoreFailure(task, *fields.failure, fields.writes.has_value());
    copy(fields.interrupts, task.record.interrupts);
    if (!asks_again) {
        copy(fields.answers, task.record.answers);
        task.record.sortAnswers();
    }
    if (reruns) {
        // It runs again: what it wrote before must not be found if this process dies.
        if (fields.writes || fields.failure || (asks_again && !fields.answers.empty())) storeRecord(task, false);
        return;
    }
    if (!fields.writes) return;
    restoreResult(topology(), core_.schema(), fields, task.result.writes, task.routes);
    task.progress.end(TaskStatus::restored);
}

// After a driver that was destroyed: tasks that were under way are due again, and those that have ended stay as they are.
void Run::takeUpLeft() noexcept {
    std::erase_if(superstep_->todo(), [this](Task* task) {
        task->progress.leave();
        if (!task->progress.hasEnded()) return false;
        if (task->extra().inner_ids) ids_.observe(*task->extra().inner_ids);
        return true;
    });
}

bool Run::stopsAt(const Breakpoints& breakpoints) const noexcept {
    return std::any_of(superstep_->tasks().begin(), superstep_->tasks().end(), [&](const Task* task) {
        return task->planned.node != topology().start && breakpoints.has(task->planned.node);
    });
}

}  // namespace stategraph::engine
