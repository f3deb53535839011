#pragma once
#include <exception>
#include <optional>
#include <utility>

#include <stategraph/error.hpp>

#include "src/run/invoke.hpp"
#include "src/run/machine.hpp"

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

    /// Takes how the run has ended, once that is stored. The machine needs nothing more.
    void come(Run& run, Machine& machine) noexcept {
        is_there_ = true;
        try {
            nameThread(machine.failure(), *run.shared().config);
            outcome_ = std::move(machine.end());
            has_outcome_ = true;
        } catch (...) {
            failure_ = std::current_exception();
        }
        run.shared().claim.release();
    }

private:
    static void nameThread(const std::exception_ptr& failure, const RunConfig& config) noexcept {
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (Error& error) {
            try {
                addRunContext(error, config);
            } catch (...) {  // there is no memory for the name
            }
        } catch (...) {
        }
    }

    bool is_there_ = false;
    bool has_outcome_ = false;
    RunOutcome outcome_;
    std::exception_ptr failure_;
};

}  // namespace stategraph::engine
