#pragma once
#include <exception>
#include <optional>
#include <utility>

#include <stategraph/error.hpp>

#include "src/run/invoke.hpp"

// What streams whose reader blocks and streams whose reader awaits have in common.
namespace stategraph::engine {

/// The outcome of a stream's run, which the reader receives after the last event.
class StreamEnd {
public:
    bool isThere() const noexcept { return is_there_; }
    /// Returns the outcome and, in `values`, the state that the run left. Call it once.
    RunOutcome take(Run& run, void* values) {
        if (!has_outcome_) {
            throw InvalidArgumentError(
                "a stream's outcome was asked for before its last event, after its run failed, or twice; read all "
                "events first",
                {.thread_id = run.shared().config->thread_id.toString()});
        }
        has_outcome_ = false;
        giveValues(run, values, nullptr);
        return std::move(outcome_);
    }
    /// Throws what the run failed with, the first time.
    void tell() {
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

    /// Ends it well, after the other parts of Run::finish.
    void finish(Run& run) {
        is_there_ = true;
        outcome_ = std::move(run.tellFinish());
        has_outcome_ = true;
        run.shared().claim.release();
    }
    /// Keeps the exception that is being handled, for `fail`.
    void keepFailure(Run& run) {
        try {
            throw;
        } catch (Error& error) {
            addRunContext(error, *run.shared().config);
            failure_ = std::current_exception();
        } catch (...) {
            failure_ = std::current_exception();
        }
    }
    /// Ends it with that exception, after the other parts of Run::fail.
    void fail(Run& run) noexcept {
        is_there_ = true;
        try {
            std::rethrow_exception(failure_);
        } catch (...) {
            run.tellFailure();
        }
        run.shared().claim.release();
    }

private:
    bool is_there_ = false;
    bool has_outcome_ = false;
    RunOutcome outcome_;
    std::exception_ptr failure_;
};

}  // namespace stategraph::engine
