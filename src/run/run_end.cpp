#include <algorithm>
#include <chrono>

#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/run/run.hpp"

// Stores a run, and ends it: done, in a pause, failed, or abandoned.
namespace stategraph::engine {
// Returns what the graph says of a run in which nothing is due.
detail::Verdict Run::verdict() const {
    const auto judge = root_ ? core().spec().judge : nullptr;
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
        const auto storing = this->storing();
        if (measures) at = env_.times.makeCheckpoint();
        env_.place.checkpoint = measures ? env_.ids.next(env_.times.unixUs(at)) : env_.ids.next();
        env_.place.parent = before;
        if (root_) root_->beginCheckpoint();
        if (source == Source::input) {
            prepareInput(core(), env_.schedule, env_.place.log(), env_.place.checkpoint, env_.place.step);
            if (root_ && start_ && start_->is_behind_gates && isDue(breakpoints_.before())) root_->passGates();
        }
        CommitStep step = commitStep(source, env_.place.step);
        if (source == Source::loop) noteSuperstep(at, step);
        env_.log.commit(step);
        if (measures) noteStored(source, at);
    }
    if (env_.observation) observeStored(before, env_.place.step, began);
    env_.memory->superstep.drafts.writes.clear();
    if (root_) root_->reached(before);
    if (start_) start_->records.clear();
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

void Run::storeEnd() {
    if (!hasSaver()) return;
    if (root_) root_->storePause(outcome_);
    const bool keeps = root_ || isPaused() || env_.isPerThread();
    const CheckpointId before = env_.log.stored();
    const auto began = env_.observation ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    if (keeps) flush(outlook());
    if (env_.observation) observeStored(before, env_.place.step - 1, began);
}

void Run::tellIndex() noexcept {
    if (root_) root_->tellIndex();
}

RunOutcome& Run::tellFinish() {
    tellStored();
    if (root_ && isPaused()) showPause();
    noteHere();
    if (outcome_.status == Status::done) {
        verdict_ = verdict();
    } else {
        verdict_.ending = outcome_.status;
    }
    keepWarm();
    if (env_.observation) env_.observation.runEnds(verdict_.ending, env_.limits.begun(), verdict_.error);
    if (root_) root_->tellEnd(verdict_.ending, outcome_, verdict_.error);
    return outcome_;
}

void Run::storeFailure() noexcept {
    try {
        if (root_) root_->storeFailure();
    } catch (...) {
        // The failure that is being reported matters more. If the note was not stored, the thread
        // counts as in flight.
    }
    flushQuietly(outlook());
}

void Run::tellFailure(const std::exception_ptr& failure) noexcept {
    if (env_.observation) observeFailure(failure);
    if (root_) root_->tellFailedEnd(outcome_, failure);
}

void Run::tellStored() noexcept {
    if (root_) env_.shared.events->changed();
}

void Run::leave() noexcept {
    flushQuietly({});
    try {
        env_.log.wait();
        tellStored();
    } catch (...) {
    }
    if (env_.observation) env_.observation.runEnds(Status::left, env_.limits.begun(), {});
    if (!root_) return;
    outcome_.interrupts.clear();
    root_->tellEnd(Status::left, outcome_, {});
}

void Run::flush(const ThreadOutlook& outlook) {
    const auto storing = this->storing();
    std::vector<std::string_view> questions;
    env_.log.flush(commitStep(env_.place.source, env_.place.step - 1),
                   root_ ? root_->report(outlook, questions) : ThreadReport());
}

void Run::flushQuietly(const ThreadOutlook& outlook) noexcept {
    try {
        // A run cannot resume from a state with half a superstep in it.
        const CheckpointId before = env_.log.stored();
        const auto began =
            env_.observation ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
        if (!env_.superstep || !env_.superstep->isApplied()) flush(outlook);
        if (env_.observation) observeStored(before, env_.place.step - 1, began);
    } catch (...) {
    }
}

}  // namespace stategraph::engine
