#include <algorithm>
#include <chrono>

#include <stategraph/error.hpp>

#include "src/checkpoint/outlook.hpp"
#include "src/commit/open_questions.hpp"
#include "src/commit/task_record.hpp"
#include "src/run/run.hpp"
#include "src/value/times.hpp"

// Stores a run, and ends it: done, in a pause, failed, or abandoned.
namespace stategraph::engine {
// For a superstep with more tasks than this, the index of threads does not learn why it stopped.
constexpr static std::size_t told_tasks_max = 64;

// Returns what the graph says of a run in which nothing is due.
detail::Verdict Run::verdict() const {
    const auto judge = env_.link == nullptr ? core().spec().judge : nullptr;
    return judge != nullptr ? judge(env_.state.values.object()) : detail::Verdict();
}

CommitStep Run::commitStep(Source source, std::int64_t step) {
    CommitStep commit{.id = env_.place.checkpoint,
                      .step = step,
                      .source = source,
                      .topology = &topology(),
                      .state = &env_.state.values,
                      .schedule = &env_.schedule,
                      .next = env_.plan,
                      .writes = env_.memory->superstep.drafts.writes,
                      .write_sizes = env_.memory->superstep.drafts.write_sizes};
    if (env_.plan.empty()) {
        verdict_ = verdict();
        if (verdict_.ending == Status::failed) commit.failure = verdict_.error;
    }
    if (env_.times.hasFolded()) commit.took = checkpoint::LoggedTook{.superstep_us = env_.times.foldedUs()};
    return commit;
}

// Notes what the commit of the current superstep says about its time, if it is created at `at`.
void Run::noteSuperstep(MomentUs at, CommitStep& commit) const {
    if (!env_.superstep || !env_.log.logsOperations()) return;
    if (env_.measures())
        commit.took =
            checkpoint::LoggedTook{.superstep_us = env_.times.superstepUs(at), .commit_us = env_.times.commitUs()};
    const Task& first = *env_.superstep->tasks().front();
    if (env_.superstep->hasOneTask() && first.progress.status() == TaskStatus::finished)
        commit.attempts = first.attempts();
}

// Notes that the checkpoint is in the log, or will be. It was created at `at`.
void Run::noteStored(Source source, MomentUs at) {
    if (env_.log.logsOperations()) {
        env_.times.noteStored(at);
    } else {
        env_.times.noteKept(at, source == Source::loop);
    }
}

void Run::commit(Source source) {
    plan(topology(), env_.schedule, env_.plan);
    if (hasSaver()) store(source);
    end_row_.says_running = false;
    end_row_.outlook = {};
    env_.place.source = source;
    ++env_.place.step;
}

// Stores the checkpoint that the superstep has reached.
void Run::store(Source source) {
    const CheckpointId before = env_.log.stored();
    const bool measures = env_.times.measures();
    MomentUs at = 0;
    const auto began = env_.observation ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    {
        const auto storing = env_.link == nullptr ? env_.shared.claim.storing() : ThreadClaim::Storing();
        if (measures) at = env_.times.makeCheckpoint();
        env_.place.checkpoint = measures ? env_.ids.next(env_.times.unixUs(at)) : env_.ids.next();
        env_.place.parent = before;
        end_row_.stored.clear();
        end_row_.has_due = !env_.plan.empty();
        if (env_.link == nullptr && end_row_.has_due && env_.shared.claim.isCancelled()) {
            end_row_.stored = noteRecord(checkpoint::thread_cancelled);
            env_.log.putTaskWithCommit({env_.place.checkpoint, checkpoint::run_path, end_row_.stored, ""},
                                       outlookAfter(checkpoint::thread_cancelled));
        }
        if (source == Source::input) {
            prepareInput(core(), env_.schedule, env_.place.log(), env_.place.checkpoint, env_.place.step);
            notePassedGates();
        }
        CommitStep step = commitStep(source, env_.place.step);
        if (source == Source::loop) noteSuperstep(at, step);
        env_.log.commit(step);
        if (measures) noteStored(source, at);
    }
    if (env_.observation) observeStored(before, env_.place.step, began);
    env_.memory->superstep.drafts.writes.clear();
    if (env_.link == nullptr && env_.log.stored() != before) env_.shared.events->committed(env_.log.stored());
    if (start_) start_->records.clear();
}

// A Command names the nodes that it leads to. Another run may have to do what it says, and must then know that.
void Run::notePassedGates() {
    if (env_.link != nullptr || !start_ || !start_->is_behind_gates || !isDue(breakpoints_.before())) return;
    if (!end_row_.stored.empty()) return;  // the thread was cancelled
    env_.shared.gates.setPassed({env_.place.checkpoint});
    end_row_.stored = noteRecord(checkpoint::run_goes_on);
    env_.log.putTaskWithCommit({env_.place.checkpoint, checkpoint::run_path, end_row_.stored, ""});
}

void Run::pause(Status status, std::vector<Interrupt> interrupts) {
    outcome_.status = status;
    outcome_.interrupts = std::move(interrupts);
}

// Adds what the finished tasks wrote to the superstep's writes, which the caller closes. Returns false if no task is
// finished.
bool Run::collectFinished() {
    bool any = false;
    env_.memory->superstep.writes.clear();
    for (Task* task : env_.superstep->tasks()) {
        if (!task->isDone()) continue;
        any = true;
        env_.memory->superstep.writes.add(core().schema(), task->result.writes, env_.nodeOf(*task).name);
    }
    return any;
}

// The outcome of a paused run shows what its finished tasks wrote; nothing of it is stored again.
void Run::showPause() {
    if (env_.superstep && collectFinished()) {
        WriteSet& writes = env_.memory->superstep.writes;
        env_.state.own();
        const bool shows = touchesOutput(env_.superstep->tasks());
        try {
            writes.close(core().schema());
            applyWrites(env_.state.values, writes, {}, nullptr);
        } catch (const InvalidUpdateError&) {
            return;  // the writes conflict, so the outcome shows what is stored
        }
        if (shows) env_.teller.values();
    }
    if (outcome_.status == Status::breakpoint) env_.teller.breakpoint();
}

// Stores why a thread with due tasks stays as it is, for calls that look for unfinished threads. A run that was drained
// or replaced stores nothing, because another run continues it.
void Run::noteEnd() {
    if (env_.link != nullptr || !isPaused() || env_.plan.empty()) return;
    if (outcome_.status == Status::timed_out) {
        note(checkpoint::run_timed_out);
    } else if (outcome_.status == Status::cancelled && env_.stopStatus()) {
        note(checkpoint::run_cancelled);  // even if a task of it sleeps, because a cancelled thread is not woken
    } else if (outcome_.wake_at) {
        note(checkpoint::sleepingUntil(times::unixMs(*outcome_.wake_at)));
    } else if (outcome_.status == Status::breakpoint) {
        note(checkpoint::run_at_breakpoint);
    } else if (outcome_.status == Status::interrupted && env_.shared.gates.anyStopIn({})) {
        note(checkpoint::run_interrupted);
    }
}

void Run::storeEnd() {
    if (!hasSaver()) return;
    noteEnd();
    const bool keeps = env_.link == nullptr || isPaused() || env_.isPerThread();
    const CheckpointId before = env_.log.stored();
    const auto began = env_.observation ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    std::vector<std::string_view> questions;
    if (keeps) flush(report(outlookNow(), questions));
    if (env_.observation) observeStored(before, env_.place.step - 1, began);
}

Config Run::here() const {
    return {
        .thread_id = env_.shared.config->thread_id, .checkpoint_id = env_.log.stored(), .checkpoint_ns = env_.place.ns};
}

RunOutcome& Run::tellFinish() {
    if (env_.link == nullptr) env_.shared.events->changed();
    if (isPaused() && env_.link == nullptr) showPause();
    outcome_.config = here();
    if (outcome_.status == Status::done) {
        verdict_ = verdict();
    } else {
        verdict_.ending = outcome_.status;
    }
    keepWarm();
    if (env_.observation) env_.observation.runEnds(verdict_.ending, env_.supersteps.begun, verdict_.error);
    tellEnd(verdict_.ending, outcome_.interrupts, verdict_.error);
    return outcome_;
}

// After a failure: returns whether tasks were not started or were stopped, so that no record says why.
bool Run::leftSome() const noexcept {
    if (!env_.superstep || !env_.superstep->hasFailed()) return false;
    return std::ranges::any_of(env_.superstep->tasks(), [](const Task* task) {
        const TaskStatus how = task->progress.status();
        return !task->progress.hasEnded() || how == TaskStatus::stopped ||
               (how == TaskStatus::interrupted && task->extra().asked.empty());
    });
}

void Run::storeFailure() noexcept {
    try {
        const bool was_refused = env_.shared.refusal.isNoted();
        if (env_.link == nullptr && env_.shared.check != nullptr) env_.shared.check->reached = env_.log.head();
        if (env_.link == nullptr && !was_refused &&
            (end_row_.says_running || end_row_.if_it_throws == checkpoint::run_at_limit || leftSome() ||
             !end_row_.error.empty() ||
             (env_.superstep && env_.superstep->hasFailed() && env_.shared.gates.anyStopIn({})))) {
            note(end_row_.if_it_throws);
        }
    } catch (...) {
        // The failure that is being reported matters more. If the note was not stored, the thread
        // counts as in flight.
    }
    flushQuietly(outlookNow());
}

void Run::tellFailure(const std::exception_ptr& failure) noexcept {
    if (env_.observation) observeFailure(failure);
    tellFailedEnd(failure);
}

void Run::tellStored() noexcept {
    if (env_.link == nullptr) env_.shared.events->changed();
}

void Run::leave() noexcept {
    flushQuietly({});
    try {
        env_.log.wait();
        tellStored();
    } catch (...) {
    }
    if (env_.observation) env_.observation.runEnds(Status::left, env_.supersteps.begun, {});
    tellEnd(Status::left, {}, {});
}

void Run::flush(const ThreadReport& report) {
    const auto storing = env_.link == nullptr ? env_.shared.claim.storing() : ThreadClaim::Storing();
    env_.log.flush(commitStep(env_.place.source, env_.place.step - 1), report);
}

void Run::flushQuietly(const ThreadOutlook& outlook) noexcept {
    try {
        // A run cannot resume from a state with half a superstep in it.
        const CheckpointId before = env_.log.stored();
        const auto began =
            env_.observation ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
        std::vector<std::string_view> questions;
        if (!env_.superstep || !env_.superstep->isApplied()) flush(report(outlook, questions));
        if (env_.observation) observeStored(before, env_.place.step - 1, began);
    } catch (...) {
    }
}

// Stores how this run ended, or that it resumed after such an end, for calls that look for unfinished threads.
void Run::note(std::string_view end) {
    if (!hasSaver()) return;
    const auto storing = env_.shared.claim.storing();
    if (env_.shared.claim.isCancelled()) end = checkpoint::thread_cancelled;
    const ThreadOutlook outlook = outlookAfter(end);
    std::vector<std::string_view> questions;
    std::string record = noteRecord(end);
    env_.log.putTask({env_.place.checkpoint, checkpoint::run_path, record, end_row_.stored},
                     report(outlook, questions));
    end_row_.stored = std::move(record);
    end_row_.says_running = end == checkpoint::run_goes_on;
    end_row_.outlook = outlook;
}

// Returns what the thread waits for if its run's row says `end`.
ThreadOutlook Run::outlookAfter(std::string_view end) const {
    if (const auto outlook = checkpoint::outlookOfRun(endFields(end))) return *outlook;
    const ThreadOutlook of_tasks = outlookOfTasks();
    const bool fails = end == checkpoint::run_failed && of_tasks.status == Status::failed;
    return fails ? of_tasks : ThreadOutlook();
}

// Returns what the thread waits for, if the records of the tasks with which the run stopped say it alone. Tasks without
// a record, or perhaps without one, are left to another run.
ThreadOutlook Run::outlookOfTasks() const noexcept {
    if (env_.link != nullptr || !env_.superstep || env_.log.hasLostWrites()) return {};
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

// Returns the outlook with the open questions of the superstep's tasks, which are put into `questions`. They are not
// known if a task has not ended, or if the superstep was not begun and its checkpoint has records.
ThreadReport Run::report(const ThreadOutlook& outlook, std::vector<std::string_view>& questions) const {
    if (outlook.status == Status::in_flight || outlook.status == Status::done) return {outlook};
    if (!env_.superstep) return {outlook, {}, !start_ || start_->records.empty()};
    for (const Task* task : env_.superstep->tasks()) {
        if (task->isDone()) continue;
        if (!task->progress.hasEnded()) return {outlook, {}, false};
        task->record.addOpenQuestions(questions);
    }
    return {outlook, questions};
}

ThreadOutlook Run::outlookNow() const noexcept {
    return end_row_.outlook.status != Status::in_flight ? end_row_.outlook : outlookOfTasks();
}

// Updates the index if no record has the status for all tasks, as when several asked or one failed. Another process may
// have answered or resumed meanwhile, so everything from which the status follows is compared.
void Run::tellIndex() noexcept {
    if (env_.link != nullptr || !hasSaver()) return;
    if (end_row_.outlook.status != Status::in_flight) return;  // its row says so
    const ThreadOutlook outlook = outlookOfTasks();
    if (outlook.status == Status::in_flight || outlook.status == env_.log.told() ||
        env_.superstep->tasks().size() > told_tasks_max)
        return;
    try {
        const auto storing = env_.shared.claim.storing();
        if (env_.shared.claim.isCancelled()) return;
        std::vector<std::string> paths;
        for (const Task* task : env_.superstep->tasks()) {
            if (task->isDone()) continue;
            if (task->extra().stored_record.empty()) return;
            paths.push_back(pathOf(topology(), task->planned));
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

// The next run passes a breakpoint at which this one has stopped only if the thread says that it waits there. Whoever
// resumes it after another end, such as a failure, a question or a sleep, has not seen the breakpoint.
std::string Run::noteRecord(std::string_view end) const {
    checkpoint::TaskFields fields = endFields(end);
    fields.gates = env_.shared.gates.toStore(end == checkpoint::run_at_breakpoint);
    std::string record;
    checkpoint::writeTask(env_.place.checkpoint, fields, record);
    return record;
}

// Returns the row of the last run at the checkpoint, if that ends so, without the breakpoints.
checkpoint::TaskFields Run::endFields(std::string_view end) const {
    checkpoint::TaskFields fields;
    fields.node = end;
    if (end == checkpoint::run_failed && !end_row_.error.empty()) fields.error = end_row_.error;
    return fields;
}

// A cancel is accepted from the first superstep on. Before it there may be nothing that could be cancelled.
void Run::takeCancels() {
    {
        const auto storing = env_.shared.claim.storing();
        end_row_.has_due = !env_.plan.empty();
    }
    env_.shared.claim.takeCancels([](void* run) { return static_cast<Run*>(run)->storeCancel(); }, this);
}

// Called by whoever cancels, while tasks may run. Returns false if nothing is due: the run has ended by itself.
bool Run::storeCancel() {
    if (!end_row_.has_due) return false;
    std::string record = noteRecord(checkpoint::thread_cancelled);
    env_.log.putTaskNow({env_.place.checkpoint, checkpoint::run_path, record, end_row_.stored},
                        {outlookAfter(checkpoint::thread_cancelled)});
    end_row_.stored = std::move(record);
    return true;
}

// Returns true if the stored run record says that the thread stopped although the run has resumed.
bool Run::mustNoteGoingOn() const { return env_.link == nullptr && sayStopped(start_->records); }

}  // namespace stategraph::engine
