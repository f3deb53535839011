#include "src/run/root.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/error.hpp>

#include "src/checkpoint/outlook.hpp"
#include "src/commit/open_questions.hpp"
#include "src/commit/task_record.hpp"
#include "src/value/times.hpp"

// What the outermost run stores and reports of its thread.
namespace stategraph::engine {

// For a superstep with more tasks than this, the index of threads does not learn why it stopped.
constexpr static std::size_t told_tasks_max = 64;

void Root::claimThread() {
    const RunConfig& config = *env_.shared.config;
    const ClaimStop stop = env_.shared.claimStop();
    env_.shared.claim.acquire(*env_.shared.saver, config.thread_id.view(), config.on_busy, config.busy_timeout, stop);
    env_.shared.claim.hold(*env_.shared.saver, config.on_busy, config.busy_timeout, stop);
}

void Root::tellBegin() {
    env_.shared.events->at(env_.place.head_at_begin);  // what is reported from here on is later than what was stored
    env_.teller.runBegins();
}

void Root::takeCancels() {
    {
        const auto storing = this->storing();
        row_.has_due = !env_.plan.empty();
    }
    env_.shared.claim.takeCancels([](void* root) { return static_cast<Root*>(root)->storeCancel(); }, this);
}

// Called by whoever cancels, while tasks may run. Returns false if nothing is due: the run has ended by itself.
bool Root::storeCancel() {
    if (!row_.has_due) return false;
    std::string record = recordOf(checkpoint::thread_cancelled);
    env_.log.putTaskNow({env_.place.checkpoint, checkpoint::run_path, record, row_.stored},
                        {outlookAfter(checkpoint::thread_cancelled)});
    row_.stored = std::move(record);
    return true;
}

void Root::takeRow(std::string row, const checkpoint::TaskFields& record) {
    row_.stored = std::move(row);
    row_.says_running = record.node == checkpoint::run_goes_on;
}

void Root::beginCheckpoint() {
    row_.stored.clear();
    row_.has_due = !env_.plan.empty();
    if (!row_.has_due || !env_.shared.claim.isCancelled()) return;
    row_.stored = recordOf(checkpoint::thread_cancelled);
    env_.log.putTaskWithCommit({env_.place.checkpoint, checkpoint::run_path, row_.stored, ""},
                               outlookAfter(checkpoint::thread_cancelled));
}

// A Command names the nodes that it leads to. Another run may have to do what it says, and must then know that.
void Root::passGates() {
    if (!row_.stored.empty()) return;  // the thread was cancelled
    env_.shared.gates.setPassed({env_.place.checkpoint});
    row_.stored = recordOf(checkpoint::run_goes_on);
    env_.log.putTaskWithCommit({env_.place.checkpoint, checkpoint::run_path, row_.stored, ""});
}

void Root::reached(CheckpointId before) noexcept {
    row_.says_running = false;
    row_.outlook = {};
    if (env_.log.stored() != before) env_.shared.events->committed(env_.log.stored());
}

void Root::storeGoingOn() {
    if (sayStopped(start_->records)) store(checkpoint::run_goes_on);
}

void Root::storePause(const RunOutcome& outcome) {
    const Status how = outcome.status;
    if (how == Status::done || env_.plan.empty()) return;
    // Even if a task of it sleeps, because a stopped thread is not woken.
    const bool was_stopped = how == Status::timed_out || (how == Status::cancelled && env_.stopStatus());
    if (outcome.wake_at && !was_stopped) return store(checkpoint::sleepingUntil(times::unixMs(*outcome.wake_at)));
    if (how == Status::cancelled && !was_stopped) return;
    // The records of the tasks say what they ask, and not that a run inside one of them is at a breakpoint.
    if (how == Status::interrupted && !env_.shared.gates.anyStopIn({})) return;
    if (checkpoint::isNoted(how)) store(toString(how));
}

// Returns whether tasks were not started or were stopped, so that no record says why.
bool Root::leftSome() const noexcept {
    if (!env_.superstep || !env_.superstep->hasFailed()) return false;
    return std::ranges::any_of(env_.superstep->tasks(), [](const Task* task) {
        const TaskStatus how = task->progress.status();
        return !task->progress.hasEnded() || how == TaskStatus::stopped ||
               (how == TaskStatus::interrupted && task->extra().asked.empty());
    });
}

void Root::storeFailure() {
    const bool was_refused = env_.shared.refusal.isNoted();
    if (env_.shared.check != nullptr) env_.shared.check->reached = env_.log.head();
    if (was_refused) return;
    if (env_.limits.wereReached()) return store(toString(Status::limit));
    if (row_.says_running || leftSome() || !row_.error.empty() ||
        (env_.superstep && env_.superstep->hasFailed() && env_.shared.gates.anyStopIn({}))) {
        store(checkpoint::run_failed);
    }
}

// Stores how this run ended, or that it resumed after such an end, for calls that look for unfinished threads.
void Root::store(std::string_view end) {
    if (!env_.hasSaver()) return;
    const auto storing = this->storing();
    if (env_.shared.claim.isCancelled()) end = checkpoint::thread_cancelled;
    const ThreadOutlook outlook = outlookAfter(end);
    std::vector<std::string_view> questions;
    std::string record = recordOf(end);
    env_.log.putTask({env_.place.checkpoint, checkpoint::run_path, record, row_.stored}, report(outlook, questions));
    row_.stored = std::move(record);
    row_.says_running = end == checkpoint::run_goes_on;
    row_.outlook = outlook;
}

// The next run passes a breakpoint at which this one has stopped only if the thread says that it waits there. Whoever
// resumes it after another end, such as a failure, a question or a sleep, has not seen the breakpoint.
std::string Root::recordOf(std::string_view end) const {
    checkpoint::TaskFields fields = fieldsOf(end);
    fields.gates = env_.shared.gates.toStore(end == toString(Status::breakpoint));
    std::string record;
    checkpoint::writeTask(env_.place.checkpoint, fields, record);
    return record;
}

// Returns the row of the last run at the checkpoint, if that ends so, without the breakpoints.
checkpoint::TaskFields Root::fieldsOf(std::string_view end) const {
    checkpoint::TaskFields fields;
    fields.node = end;
    if (end == checkpoint::run_failed && !row_.error.empty()) fields.error = row_.error;
    return fields;
}

// Returns what the thread waits for if its run's row says `end`.
ThreadOutlook Root::outlookAfter(std::string_view end) const {
    if (const auto outlook = checkpoint::outlookOfRun(fieldsOf(end))) return *outlook;
    const ThreadOutlook of_tasks = outlookOfTasks();
    const bool fails = end == checkpoint::run_failed && of_tasks.status == Status::failed;
    return fails ? of_tasks : ThreadOutlook();
}

// Returns what the thread waits for, if the records of the tasks with which the run stopped say it alone. Tasks without
// a record, or perhaps without one, are left to another run.
ThreadOutlook Root::outlookOfTasks() const noexcept {
    if (!env_.superstep || env_.log.hasLostWrites()) return {};
    checkpoint::OpenTasks open;
    for (const Task* task : env_.superstep->tasks()) {
        if (task->isDone()) continue;
        const TaskStatus how = task->progress.status();
        if (how == TaskStatus::failed && task->record.error) {
            open.any_failed = true;
        } else if (how == TaskStatus::interrupted && !task->extra().asked.empty()) {
            open.any_asks = true;
        } else {
            return {};
        }
    }
    return {open.status({}), {}};
}

ThreadOutlook Root::outlook() const noexcept {
    return row_.outlook.status != Status::in_flight ? row_.outlook : outlookOfTasks();
}

ThreadReport Root::report(const ThreadOutlook& outlook, std::vector<std::string_view>& questions) const {
    if (outlook.status == Status::in_flight || outlook.status == Status::done) return {outlook};
    if (!env_.superstep) return {outlook, {}, !start_ || start_->records.empty()};
    for (const Task* task : env_.superstep->tasks()) {
        if (task->isDone()) continue;
        if (!task->progress.hasEnded()) return {outlook, {}, false};
        task->record.addOpenQuestions(questions);
    }
    return {outlook, questions};
}

void Root::tellIndex() noexcept {
    if (!env_.hasSaver()) return;
    if (row_.outlook.status != Status::in_flight) return;  // its row says so
    const ThreadOutlook outlook = outlookOfTasks();
    if (outlook.status == Status::in_flight || outlook.status == env_.log.told() ||
        env_.superstep->tasks().size() > told_tasks_max)
        return;
    try {
        const auto storing = this->storing();
        if (env_.shared.claim.isCancelled()) return;
        std::vector<std::string> paths;
        for (const Task* task : env_.superstep->tasks()) {
            if (task->isDone()) continue;
            if (task->extra().stored_record.empty()) return;
            paths.push_back(pathOf(env_.topology(), task->planned));
        }
        std::vector<WriteRow> rows;
        std::size_t row = 0;
        for (const Task* task : env_.superstep->tasks()) {
            if (!task->isDone()) rows.push_back({env_.place.checkpoint, paths[row++], {}, task->extra().stored_record});
        }
        rows.push_back({env_.place.checkpoint, checkpoint::command_path, {}, ""});
        if (outlook.status == Status::failed) rows.push_back({env_.place.checkpoint, checkpoint::run_path, {}, ""});
        std::vector<std::string_view> questions;
        env_.log.tell(report(outlook, questions), rows);
    } catch (...) {  // there is no memory; callers that list threads detect it themselves
    }
}

void Root::tellEnd(Status ending, const RunOutcome& outcome, std::string_view error) noexcept {
    env_.shared.claim.release();
    if (!env_.teller.any()) return;
    env_.teller.runEnds({.ending = ending,
                         .interrupts = outcome.interrupts,
                         .error = error,
                         .wake_at = outcome.wake_at,
                         .stored = env_.log.stored()});
}

void Root::tellFailedEnd(RunOutcome& outcome, const std::exception_ptr& failure) noexcept {
    outcome.interrupts.clear();
    std::string text;
    if (env_.teller.any()) {
        try {
            try {
                std::rethrow_exception(failure);
            } catch (NodeError& error) {  // without dynamic_cast, because a program without RTTI has errors of its own
                error.addContext({.thread_id = env_.shared.config->thread_id.toString()});
                outcome.interrupts = error.interrupts();
            } catch (Error& error) {
                error.addContext({.thread_id = env_.shared.config->thread_id.toString()});
            }
        } catch (...) {
            // Either it is no error of this library, or there is no memory. The questions are in the log too.
        }
        text = describedOrEmpty(failure);
    }
    tellEnd(Status::failed, outcome, text);
}

}  // namespace stategraph::engine
