#include "src/run/machine.hpp"

namespace stategraph::engine {

void Machine::settle() noexcept {
    LogWriter& log = run_.env().log;
    try {
        until() == PutQueue::Until::room ? log.waitForRoom() : log.wait();
    } catch (...) {
        has_lost_ = failure_ != nullptr;
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
