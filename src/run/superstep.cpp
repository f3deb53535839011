#include <algorithm>
#include <chrono>
#include <tuple>

#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/run/execution.hpp"
#include "src/run/run.hpp"
#include "src/run/task_window.hpp"

// One superstep of a run: from the plan to the commit, or to the pause or failure it ends in.
namespace stategraph::engine {
namespace {

// What is inside a run goes on where it was in the first superstep only. But a graph without a log that is run again begins from its beginning,
// and each of its supersteps may be one that was there before.
bool isRepeated(const Run& run, const ParentLink* parent) noexcept { return parent != nullptr && parent->resuming && !run.hasSaver(); }

}  // namespace

// Where nobody is told of START's superstep, or stores it, that is its input's writes and its edges: no task is needed.
bool Run::startsQuietly() const noexcept {
    if (!schedule_.has_input || next_plan_->size() != 1 || hasSaver() || run_stop_ != nullptr || shared_.events->any() || observation_) return false;
    return topology().nodes[topology().start].branches.empty() && !core_.preparesWrites();
}

void Run::startQuietly() {
    std::swap(plan_, next_plan_);
    writes_.clear();
    writes_.add(core_.schema(), schedule_.input, topology().nodes[topology().start].name);
    writes_.close(core_.schema());
    applyTasksWrites();
    if (!ending_.empty()) endChannels(state_, ending_);
    Routes routes;
    const Routed start{topology().start, &routes};
    advance(topology(), schedule_, {.consumed = *plan_, .routed = {&start, 1}, .is_step = true});
    commit(Source::loop);
    first_ = false;
    inner_resuming_ = isRepeated(*this, parent_);
    inner_replaying_ = false;
}

bool Run::next() {
    if (parent_ == nullptr && shared_.events->any()) shared_.events->at(place_.checkpoint);
    if (!planned_) plan(topology(), schedule_, *next_plan_);
    if (startsQuietly()) startQuietly();
    planned_ = false;
    superstep_done_ = false;
    std::swap(plan_, next_plan_);
    current_.clear();
    while (tasks_.size() < plan_->size()) tasks_.push_back(std::make_unique<Task>());
    memory_->tasks_used = std::max(memory_->tasks_used, plan_->size());
    for (std::size_t i = 0; i < plan_->size(); ++i) {
        tasks_[i]->use((*plan_)[i]);
        current_.push_back(tasks_[i].get());
    }
    if (hasSaver()) shared_.events->checkpoint(*this, place_.source, place_.step - 1, current_);
    if (first_ && parent_ == nullptr && hasSaver()) takeCancels();
    if (plan_->empty()) return false;
    if ((run_stop_ != nullptr || shared_.claim.isReplaced()) && endsFromOutside()) return false;
    if (ran_ == limit_) {
        end_note_ = checkpoint::run_at_limit;
        throw GraphRecursionError("the run took " + std::to_string(limit_) + " supersteps and is not done; node '" +
                                      nodeOf(*current_.front()).name +
                                      "' is next. Raise recursion_limit, or find what goes round in circles; the thread can go on with RESUME",
                                  {.node = nodeOf(*current_.front()).name, .step = place_.step});
    }
    const bool only_start = plan_->size() == 1 && plan_->front().node == topology().start;
    if (!only_start) ++ran_;
    prepareTasks();
    if (todo_.empty()) {
        if (observation_) observation_.superstepStarts(place_.step, current_.size(), current_.size());
        return true;
    }
    if (before_->any() && !(first_ && went_on_) && stopsAt(*before_)) {
        pause(Status::breakpoint, {});
        return false;
    }
    if (topology().has_keys) prepareVisits();
    if (shared_.events->any()) {
        for (Task* task : current_) shared_.events->taskStarts(*this, *task);
    }
    if (observation_) observation_.superstepStarts(place_.step, current_.size(), current_.size() - todo_.size());
    if (run_stop_ != nullptr || topology().has_limits) state_.share();
    return true;
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
    todo_.clear();
    any_failed_.store(false, std::memory_order_relaxed);
    drafts_.clear();
    applied_ = false;
    if (first_ && !stored_records_.empty()) {
        for (Task* task : current_) {
            const auto* fields = stored_records_.find(pathOf(topology(), task->planned));
            if (fields != nullptr) restoreTask(*task, *fields);
        }
    }
    for (Task* task : current_) {
        if (task->isDone()) {
            shared_.events->emit(shared_.events->update(*this, *task, true));
        } else {
            todo_.push_back(task);
        }
    }
    // They begin as in LangGraph: sends first, then triggered nodes; and subgraphs last, so that what single nodes have to say does
    // not wait behind whole runs.
    if (todo_.size() > 1) {
        in_turn_.reserve(todo_.size());
        const auto place = [this](const Task* task) { return 2 * nodeOf(*task).subgraph.has_value() + !task->planned.is_send; };
        const auto before = [&](const Task* a, const Task* b) { return place(a) < place(b); };
        if (!std::is_sorted(todo_.begin(), todo_.end(), before)) std::stable_sort(todo_.begin(), todo_.end(), before);  // it allocates
    }
}

// Which logs the subgraphs with keys are to go on with, found before the first of them begins, as no two may go on with the same.
void Run::prepareVisits() {
    std::vector<Task*> visits;
    for (Task* task : todo_) {
        const Node& node = nodeOf(*task);
        if (!hasKeys(node)) continue;
        task->useExtra().visit = std::make_unique<Visit>();
        try {
            makeVisit(core_.schema(), node, state_, sendOf(*task), *task->extra().visit);
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
    if (fields.failure && !replay_) restoreFailure(task, *fields.failure, fields.writes.has_value());
    copy(fields.interrupts, task.record.interrupts);
    if (!drop_answers_) {
        copy(fields.answers, task.record.answers);
        task.record.sortAnswers();
    }
    if (replay_) {
        // It runs again: what it wrote before must not be found if this process dies.
        if (fields.writes || fields.failure || (drop_answers_ && !fields.answers.empty())) storeRecord(task, false);
        return;
    }
    if (!fields.writes) return;
    restoreResult(topology(), core_.schema(), fields, task.result.writes, task.routes);
    task.progress.end(TaskStatus::restored);
}

// After a driver that was destroyed: tasks that were under way are due again, and those that have ended stay as they are.
void Run::takeUpLeft() noexcept {
    std::erase_if(todo_, [this](Task* task) {
        task->progress.leave();
        if (!task->progress.hasEnded()) return false;
        if (task->extra().inner_ids) ids_.observe(*task->extra().inner_ids);
        return true;
    });
}

void Run::execute(Task& task) noexcept { Execution(*this, task)(); }

bool Run::stopsAt(const Breakpoints& breakpoints) const noexcept {
    return std::any_of(current_.begin(), current_.end(), [&](const Task* task) {
        return task->planned.node != topology().start && breakpoints.has(task->planned.node);
    });
}

void Run::collectWrites() {
    writes_.clear();
    for (Task* task : current_) writes_.add(core_.schema(), task->result.writes, nodeOf(*task).name);
    writes_.close(core_.schema());
}

// What `writes_` holds goes into the state; what lives for one superstep ends after the routers have seen it.
void Run::applyTasksWrites() {
    ownState();
    log_.noteChanges(state_, writes_, true);
    ending_.clear();
    if (!core_.schema().transient().empty()) findEnding(state_, writes_, ending_);
    const bool logs = log_.logsOperations() && !log_.snapshotIsDue();
    applyWrites(state_, writes_, ending_, logs ? &log_.operations() : nullptr);
    ahead_ = true;
}

void Run::endSuperstep() {
    for (Task* task : todo_) {
        if (task->extra().inner_ids) ids_.observe(*task->extra().inner_ids);
    }
    if (endUnfinished()) {
        if (observation_) observation_.superstepEnds(endingOf(outcome_.status));
        return;
    }
    const bool has_lasting = topology().has_lasting;
    if (has_lasting) findEndedVisits();  // before the state changes, which their keys are made of
    if (!applied_) {
        collectWrites();
        applyTasksWrites();
    }
    if (!ending_.empty()) endChannels(state_, ending_);
    routed_.clear();
    // A handled task leads only where its handler says.
    for (Task* task : current_) routed_.push_back({task->record.failure ? no_node : task->planned.node, &task->routes});
    advance(topology(), schedule_, {.consumed = *plan_, .routed = routed_, .is_step = true});
    if (has_lasting) {
        for (const auto& visit : ended_visits_) schedule_.setVisit(visit.log, visit.at);
    }
    commit(Source::loop);
    if (observation_) observation_.superstepEnds(Ending::done);
    if (shared_.events->any() && touchesOutput(current_)) shared_.events->values(*this);
    first_ = false;
    replay_ = false;
    inner_resuming_ = isRepeated(*this, parent_);
    inner_replaying_ = false;
    superstep_done_ = true;
    if (parent_ == nullptr) shared_.effects.clear();
    if (after_->any() && stopsAt(*after_)) pause(Status::breakpoint, {});
}

void Run::addOthers(Error& error, const Task& failed) const {
    if (core_.options().on_failure == FailurePolicy::collect) error.addOthers(otherFailures(failed));
}

// Whether the superstep cannot end, because a task failed, asked, or speaks for another graph. A failure comes first, then pauses.
// A superstep with a task of which no end is known does not end either: its driver was lost.
bool Run::endUnfinished() {
    if (std::ranges::all_of(current_, [](const Task* task) { return task->isDone(); })) return false;
    const Task* failed = nullptr;
    const Task* to_parent = nullptr;
    const Task* lost = nullptr;
    bool stopped = false;
    std::vector<Interrupt> interrupts;
    const auto first = [](const Task*& place, const Task* task) {
        if (place == nullptr) place = task;
    };
    for (const Task* task : current_) {
        switch (task->progress.status()) {
            case TaskStatus::restored:
            case TaskStatus::finished: break;
            case TaskStatus::due:
            case TaskStatus::under_way: first(lost, task); break;
            case TaskStatus::failed: first(failed, task); break;
            case TaskStatus::to_parent: first(to_parent, task); break;
            case TaskStatus::stopped: stopped = true; break;
            case TaskStatus::interrupted:
                stopped = true;
                if (task->extra().wake_unix_ms && (!outcome_.wake_unix_ms || *task->extra().wake_unix_ms < *outcome_.wake_unix_ms)) outcome_.wake_unix_ms = task->extra().wake_unix_ms;
                interrupts.insert(interrupts.end(), task->extra().asked.begin(), task->extra().asked.end());
                break;
        }
    }
    if (failed != nullptr) {
        try {
            std::rethrow_exception(failed->extra().failure);
        } catch (NodeError& error) {  // no dynamic_cast: a program without RTTI has errors of its own without it
            error.setInterrupts(std::move(interrupts));
            addOthers(error, *failed);
            throw;
        } catch (Error& error) {
            addOthers(error, *failed);
            throw;
        }
    }
    if (lost != nullptr) {
        throw CancelledError("node '" + nodeOf(*lost).name + "' has not come to an end, and nobody runs it any more. Its superstep is not committed; "
                             "what is finished of it is kept, and RESUME runs the rest",
                             {.node = nodeOf(*lost).name, .step = place_.step});
    }
    if (stopped) {
        const Status status = interrupts.empty() ? pauseWithoutQuestions() : Status::interrupted;  // before the move
        const bool paused_itself = status == Status::interrupted || status == Status::breakpoint || status == Status::sleeping;
        // What is finished can only conflict again: no answer mends that. A run inside says so when it resumes, as in LangGraph.
        if (parent_ == nullptr && paused_itself && collectFinished()) writes_.close(core_.schema());
        pause(status, std::move(interrupts));
        return true;
    }
    if (to_parent != nullptr) {
        if (parent_ == nullptr) {
            throw InvalidUpdateError("node '" + nodeOf(*to_parent).name + "' returned a Command for the parent graph, and there is none",
                                     {.node = nodeOf(*to_parent).name, .step = place_.step});
        }
        detail::TaskResult& result = const_cast<Task*>(to_parent)->result;
        const detail::Schema* written = result.written;
        throw ParentCommandSignal{std::move(result), written != nullptr ? written : &core_.schema(), written != nullptr};
    }
    return false;
}

// Of a superstep that nobody asked in: what the runs inside stopped at, or what stopped all of them.
Status Run::pauseWithoutQuestions() const {
    if (const auto status = stopStatus()) return *status;
    if (outcome_.wake_unix_ms) return Status::sleeping;
    if (shared_.claim.isReplaced()) return Status::cancelled;
    return run_stop_ && run_stop_->drains() ? Status::drained : Status::breakpoint;
}

CommitStep Run::commitStep(Source source, std::int64_t step) {
    return {.id = place_.checkpoint,
            .step = step,
            .source = source,
            .topology = &topology(),
            .state = &state_,
            .schedule = &schedule_,
            .next = planned_ ? *next_plan_ : *plan_,
            .writes = drafts_.writes};
}

void Run::commit(Source source) {
    plan(topology(), schedule_, *next_plan_);
    planned_ = true;
    if (hasSaver()) {
        const CheckpointId before = log_.stored();
        const auto began = observation_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
        {
            const auto storing = parent_ == nullptr ? shared_.claim.storing() : std::unique_lock<std::mutex>();
            place_.checkpoint = ids_.next();
            place_.parent = before;
            has_due_ = !next_plan_->empty();
            if (parent_ == nullptr && has_due_ && shared_.claim.isCancelled()) {
                log_.putTaskWithCommit(place_.checkpoint, std::string(checkpoint::run_path), noteRecord(checkpoint::thread_cancelled));
            }
            log_.commit(commitStep(source, place_.step));
        }
        if (observation_) observeStored(before, place_.step, began);
        drafts_.writes.clear();
        if (parent_ == nullptr && log_.stored() != before) shared_.events->committed(log_.stored());
    }
    ahead_ = false;
    stored_records_.clear();
    went_over_end_ = false;
    place_.source = source;
    ++place_.step;
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

void Run::pause(Status status, std::vector<Interrupt> interrupts) {
    paused_ = true;
    outcome_.status = status;
    outcome_.interrupts = std::move(interrupts);
}

// Puts what the finished tasks wrote into `writes_`, to be closed. False: none is finished.
bool Run::collectFinished() {
    bool any = false;
    writes_.clear();
    for (Task* task : current_) {
        if (!task->isDone()) continue;
        any = true;
        writes_.add(core_.schema(), task->result.writes, nodeOf(*task).name);
    }
    return any;
}

// A paused run shows what its finished tasks wrote; nothing of it is stored again.
void Run::showPause() {
    if (!superstep_done_ && collectFinished()) {
        ownState();
        const bool shows = touchesOutput(current_);
        try {
            writes_.close(core_.schema());
            applyWrites(state_, writes_, {}, nullptr);
        } catch (const InvalidUpdateError&) {
            return;  // they conflict: what is stored is shown
        }
        if (shows) shared_.events->values(*this);
    }
    if (outcome_.status == Status::breakpoint) shared_.events->breakpoint(*this);
}

// Why a thread with tasks due stays as it is, for who looks for unfinished ones. What was drained, or replaced, is for another run to go on with.
void Run::noteEnd() {
    if (parent_ != nullptr || !paused_) return;
    const bool due = planned_ ? !next_plan_->empty() : !plan_->empty();
    if (!due) return;
    if (outcome_.status == Status::timed_out) {
        note(checkpoint::run_timed_out);
    } else if (outcome_.status == Status::cancelled && stopStatus()) {
        note(checkpoint::run_cancelled);  // also if a task of it sleeps: nobody wakes a cancelled thread
    } else if (outcome_.wake_unix_ms) {
        note(checkpoint::sleepingUntil(*outcome_.wake_unix_ms));
    } else if (outcome_.status == Status::breakpoint) {
        note(checkpoint::run_at_breakpoint);
    }
}

void Run::storeEnd() {
    noteEnd();
    const bool keeps = parent_ == nullptr || paused_ || isPerThread();
    const CheckpointId before = log_.stored();
    const auto began = observation_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    if (keeps) flush();
    log_.wait();
    if (observation_) observeStored(before, place_.step - 1, began);
}

detail::RunOutcome& Run::finish() {
    if (hasSaver()) storeEnd();
    if (parent_ == nullptr) shared_.events->changed();
    if (paused_ && parent_ == nullptr) showPause();
    outcome_.config = {.thread_id = shared_.config->thread_id, .checkpoint_id = log_.stored(), .checkpoint_ns = place_.ns};
    if (observation_) observeEnd(outcome_.status);
    tellEnd(endingOf(outcome_.status), outcome_.interrupts, {});
    return outcome_;
}

void Run::fail() noexcept {
    try {
        if (parent_ == nullptr && (went_over_end_ || end_note_ == checkpoint::run_at_limit || leftSome())) note(end_note_);
    } catch (...) {
        // The failure that is on its way out matters more; the thread counts as in flight.
    }
    flushQuietly();
    if (observation_) observeFailure();
    tellFailure();
}

void Run::leave() noexcept {
    flushQuietly();
    if (observation_) observation_.runEnds(Ending::left, ran_, {});
    tellEnd(Ending::left, {}, {});
}

void Run::flush() {
    const auto storing = parent_ == nullptr ? shared_.claim.storing() : std::unique_lock<std::mutex>();
    log_.flush(commitStep(place_.source, place_.step - 1));
}

void Run::flushQuietly() noexcept {
    try {
        // A state with half a superstep in it is nothing to go on from.
        const CheckpointId before = log_.stored();
        const auto began = observation_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
        if (!ahead_) flush();
        if (observation_) observeStored(before, place_.step - 1, began);
    } catch (...) {
    }
    try {
        log_.wait();
        if (parent_ == nullptr) shared_.events->changed();
    } catch (...) {
    }
}

void Run::executeAll() noexcept {
    if (todo_.size() == 1) {
        execute(*todo_.front());
    } else if (shared_.concurrency == 1) {
        executeInTurn();
    } else if (!todo_.empty()) {
        try {
            if (topology().has_seats) {
                TaskWindow window(*this);
                executeWithin(window);
                return;
            }
            const auto run = [](void* self, std::size_t i) {
                auto& driven = *static_cast<Run*>(self);
                driven.execute(*driven.todo_[i]);
            };
            shared_.executor->forEach(todo_.size(), shared_.concurrency, run, this);
        } catch (...) {
            executeInTurn();  // no memory for helpers, and nothing has begun
        }
    }
}

// By as many hands as tasks may run at once.
void Run::executeWithin(TaskWindow& window) {
    struct Both {
        Run& run;
        TaskWindow& window;
    } both{*this, window};
    const auto run = [](void* of, std::size_t) {
        auto& [driven, tasks] = *static_cast<Both*>(of);
        for (Task* task = tasks.take(nullptr); task != nullptr; task = tasks.take(task)) driven.execute(*task);
    };
    shared_.executor->forEach(window.hands(), shared_.concurrency, run, &both);
}

// One task at a time: one that is to be tried again lets the others go first.
void Run::executeInTurn() noexcept {
    in_turn_ = todo_;  // allocates nothing: prepareTasks made room
    for (int number = 1; !in_turn_.empty(); ++number) {
        std::erase_if(in_turn_, [&](Task* task) {
            Execution execution(*this, *task);
            try {
                if (number > 1) execution.waitAfter(number - 1);
            } catch (...) {  // it cannot wait: no memory
                execution.couldNotRun(std::current_exception());
            }
            return task->progress.hasEnded() || execution.once(number);
        });
    }
}

detail::RunOutcome& Run::drive(detail::RunInput&& input) {
    try {
        begin(std::move(input));
        while (next()) {
            executeAll();
            endSuperstep();
            if (paused_) break;
        }
    } catch (...) {
        fail();
        throw;
    }
    return finish();
}

}  // namespace stategraph::engine
