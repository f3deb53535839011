#include <algorithm>
#include <chrono>

#include <stategraph/error.hpp>

#include "src/run/run.hpp"

// What a run stores, and how it ends: done, in a pause, failed, or left.
namespace stategraph::engine {

CommitStep Run::commitStep(Source source, std::int64_t step) {
    return {.id = place_.checkpoint,
            .step = step,
            .source = source,
            .topology = &topology(),
            .state = &state_.values,
            .schedule = &schedule_,
            .next = plan_,
            .writes = memory_->superstep.drafts.writes};
}

void Run::commit(Source source) {
    plan(topology(), schedule_, plan_);
    if (hasSaver()) {
        const CheckpointId before = log_.stored();
        const auto began = observation_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
        {
            const auto storing = parent_ == nullptr ? shared_.claim.storing() : std::unique_lock<std::mutex>();
            place_.checkpoint = ids_.next();
            place_.parent = before;
            end_row_.has_due = !plan_.empty();
            if (parent_ == nullptr && end_row_.has_due && shared_.claim.isCancelled()) {
                log_.putTaskWithCommit(place_.checkpoint, std::string(checkpoint::run_path), noteRecord(checkpoint::thread_cancelled));
            }
            log_.commit(commitStep(source, place_.step));
        }
        if (observation_) observeStored(before, place_.step, began);
        memory_->superstep.drafts.writes.clear();
        if (parent_ == nullptr && log_.stored() != before) shared_.events->committed(log_.stored());
        if (start_) start_->records.clear();
    }
    end_row_.says_running = false;
    place_.source = source;
    ++place_.step;
}

void Run::pause(Status status, std::vector<Interrupt> interrupts) {
    outcome_.status = status;
    outcome_.interrupts = std::move(interrupts);
}

// Puts what the finished tasks wrote into the superstep's writes, to be closed. False: none is finished.
bool Run::collectFinished() {
    bool any = false;
    memory_->superstep.writes.clear();
    for (Task* task : superstep_->tasks()) {
        if (!task->isDone()) continue;
        any = true;
        memory_->superstep.writes.add(core_.schema(), task->result.writes, nodeOf(*task).name);
    }
    return any;
}

// A paused run shows what its finished tasks wrote; nothing of it is stored again.
void Run::showPause() {
    if (superstep_ && collectFinished()) {
        WriteSet& writes = memory_->superstep.writes;
        state_.own();
        const bool shows = touchesOutput(superstep_->tasks());
        try {
            writes.close(core_.schema());
            applyWrites(state_.values, writes, {}, nullptr);
        } catch (const InvalidUpdateError&) {
            return;  // they conflict: what is stored is shown
        }
        if (shows) shared_.events->values(*this);
    }
    if (outcome_.status == Status::breakpoint) shared_.events->breakpoint(*this);
}

// Why a thread with tasks due stays as it is, for who looks for unfinished ones. What was drained, or replaced, is for another run to go on with.
void Run::noteEnd() {
    if (parent_ != nullptr || !isPaused() || plan_.empty()) return;
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
    const bool keeps = parent_ == nullptr || isPaused() || isPerThread();
    const CheckpointId before = log_.stored();
    const auto began = observation_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    if (keeps) flush();
    log_.wait();
    if (observation_) observeStored(before, place_.step - 1, began);
}

detail::RunOutcome& Run::finish() {
    if (hasSaver()) storeEnd();
    if (parent_ == nullptr) shared_.events->changed();
    if (isPaused() && parent_ == nullptr) showPause();
    outcome_.config = {.thread_id = shared_.config->thread_id, .checkpoint_id = log_.stored(), .checkpoint_ns = place_.ns};
    if (observation_) observeEnd(outcome_.status);
    tellEnd(endingOf(outcome_.status), outcome_.interrupts, {});
    return outcome_;
}

void Run::fail() noexcept {
    try {
        if (parent_ == nullptr && (end_row_.says_running || end_row_.if_it_throws == checkpoint::run_at_limit || leftSome())) {
            note(end_row_.if_it_throws);
        }
    } catch (...) {
        // The failure that is on its way out matters more; the thread counts as in flight.
    }
    flushQuietly();
    if (observation_) observeFailure();
    tellFailure();
}

void Run::leave() noexcept {
    flushQuietly();
    if (observation_) observation_.runEnds(Ending::left, supersteps_.begun, {});
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
        if (!superstep_ || !superstep_->isApplied()) flush();
        if (observation_) observeStored(before, place_.step - 1, began);
    } catch (...) {
    }
    try {
        log_.wait();
        if (parent_ == nullptr) shared_.events->changed();
    } catch (...) {
    }
}

}  // namespace stategraph::engine
