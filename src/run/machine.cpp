#include "src/run/machine.hpp"

namespace stategraph::engine {

// A run that is not awaited waits inside of these steps, so it needs the driver for fewer puts.
Need Machine::step() {
    switch (phase_) {
        case Phase::begin:
            run_.enter(input_);
            phase_ = Phase::start;
            if (isAwaited()) return Need::read;
            [[fallthrough]];
        case Phase::start:
            run_.start(std::move(input_));
            phase_ = Phase::begun;
            return Need::puts;
        case Phase::begun:
            if (isSubmission()) {
                phase_ = Phase::ended;
                return Need::done;
            }
            phase_ = Phase::plan;
            [[fallthrough]];
        case Phase::plan:
        plan:
            if (!run_.next()) return storeEnd();
            phase_ = Phase::tasks;
            return Need::tasks;
        case Phase::tasks:
            phase_ = Phase::store;
            if (isAwaited()) return Need::puts;
            [[fallthrough]];
        case Phase::store:
            run_.storeSuperstep();
            phase_ = Phase::stored;
            if (isAwaited() && run_.storesAtOnce()) return Need::puts;
            [[fallthrough]];
        case Phase::stored:
            run_.leaveSuperstep();
            if (run_.isPaused()) return storeEnd();
            phase_ = Phase::plan;
            if (run_.env().teller.any()) return Need::events;
            goto plan;
        case Phase::failing:
            run_.storeFailure();
            phase_ = Phase::ending;
            return Need::puts;
        case Phase::ending:
            run_.tellIndex();
            phase_ = Phase::ended;
            if (isAwaited()) return Need::puts;
            [[fallthrough]];
        case Phase::ended:
            break;
    }
    return Need::done;
}

Need Machine::storeEnd() {
    run_.storeEnd();
    phase_ = Phase::ending;
    return Need::puts;
}

void Machine::settle() noexcept {
    LogWriter& log = run_.env().log;
    try {
        until() == PutQueue::Until::room ? log.waitForRoom() : log.wait();
        if (failure_ && phase_ == Phase::ending) run_.tellStored();
    } catch (...) {
        fail(std::current_exception());
    }
}

void Machine::fail(std::exception_ptr why) noexcept {
    if (failure_ || phase_ == Phase::ended) return;
    failure_ = std::move(why);
    phase_ = isSubmission() ? Phase::ended : Phase::failing;
}

RunOutcome& Machine::end() {
    if (!failure_) return isSubmission() ? run_.submitted() : run_.tellFinish();
    if (!isSubmission()) run_.tellFailure(failure_);
    std::rethrow_exception(failure_);
}

void Machine::leave(bool has_executed) noexcept {
    try {
        if (phase_ == Phase::store || (phase_ == Phase::tasks && has_executed)) {
            run_.env().log.waitForRoom();
            run_.storeSuperstep();
            run_.leaveSuperstep();
        }
    } catch (...) {
        // The failure is in the record of its task, and nobody waits for the end.
    }
    if (!isSubmission()) run_.leave();
}

}  // namespace stategraph::engine
