#pragma once
#include <cstdint>
#include <exception>
#include <utility>

#include "src/run/run.hpp"

namespace stategraph::engine {

/// What a driver does before it calls `Machine::advance` again.
enum class Need : std::uint8_t {
    turn,    // takes the run's turn on its thread (OnBusy); a driver that may block need not, as `advance` does it
    read,    // nothing; a driver that awaits may read what the run begins with (Run::toRead)
    tasks,   // executes what is in Run::todo
    puts,    // waits until `Machine::until` has come, and calls `settle`, which waits if it has not
    events,  // has a reader take the run's events, if it has a reader
    done,    // calls `Machine::end` instead
};

/// The order of a run: what follows what, if all goes well and if something fails. Drivers differ only in how they do
/// what it needs: they block (Run::drive), await (driveAsync), or let a reader take events meanwhile (StreamDriver).
///
///     while ((need = machine.advance()) != Need::done) { … }
///     return machine.end();
///
/// A submission (RunShared::is_submission) ends when its beginning is stored. Used by one thread at a time.
class Machine {
public:
    /// Both arguments must outlive it. The input is moved from when the run starts.
    Machine(Run& run, detail::RunInput& input) noexcept : run_(run), input_(input) {}
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Advances until the driver must do something. What it throws inside is the failure of the run. A driver that
    /// always blocks says so, and pays for no question whether it awaits the log.
    template <bool may_await = true>
    Need advance() noexcept {
        for (;;) {
            try {
                return step<may_await>();
            } catch (...) {
                fail(std::current_exception());
            }
        }
    }
    /// What the log's puts are waited for.
    PutQueue::Until until() const noexcept {
        return phase_ == Phase::store ? PutQueue::Until::room : PutQueue::Until::idle;
    }
    /// Waits for that. What could not be stored is the failure of the run.
    void settle() noexcept;
    /// Call it if the driver itself failed. The first failure is kept, and nothing fails whose end is stored.
    void fail(std::exception_ptr why) noexcept;
    /// Reports how the run has ended. Throws what it failed with. The outcome exists as long as the run. Call it once.
    RunOutcome& end();
    /// Call it if nobody drives the run any more, and none of its tasks is running. `has_executed`: if tasks were
    /// needed last, all of them have ended. Their superstep is then committed.
    void leave(bool has_executed) noexcept;

    /// Returns what the run has failed with, or null.
    const std::exception_ptr& failure() const noexcept { return failure_; }

private:
    enum class Phase : std::uint8_t {
        begin,
        turn,     // the thread is to be claimed
        start,    // it is claimed, if there is one
        begun,    // the input is put
        plan,     // the next superstep is to be planned
        tasks,    // its tasks are executed
        store,    // there is room for its commit
        stored,   // it is put
        failing,  // a failure is to be stored
        ending,   // the end or the failure is put
        ended,    // and the index of threads knows it
    };
    template <bool may_await>
    Need step();
    bool isAwaited() const noexcept { return run_.env().log.isAwaited(); }
    bool isSubmission() const noexcept { return run_.shared().is_submission; }
    bool hasEvents() const noexcept { return run_.env().teller.any(); }
    // Where all drivers stop if they must wait, or have a reader.
    bool mayStop() const noexcept { return run_.env().log.hasQueue() || hasEvents(); }
    Need stop() const noexcept { return run_.env().log.hasQueue() ? Need::puts : Need::events; }

    Run& run_;
    detail::RunInput& input_;
    std::exception_ptr failure_;
    Phase phase_ = Phase::begin;
    bool has_lost_ = false;  // after the failure something could not be stored
};

// A run that is not awaited waits inside of these steps, so it needs the driver for fewer puts. It is compiled into
// each driver, because calling it would cost a superstep without a saver more than one in a hundred of its
// instructions.
template <bool may_await>
[[gnu::always_inline]] inline Need Machine::step() {
    switch (phase_) {
        case Phase::begin:
            phase_ = Phase::turn;
            if (!run_.enter()) goto entered;
            return Need::turn;
        case Phase::turn:
            run_.takeTurn(input_);
        entered:
            phase_ = Phase::start;
            if (may_await && isAwaited()) return Need::read;
            [[fallthrough]];
        case Phase::start:
            run_.start(std::move(input_));
            phase_ = Phase::begun;
            if (mayStop()) return stop();
            [[fallthrough]];
        case Phase::begun:
            if (isSubmission()) {
                phase_ = Phase::ended;
                return Need::done;
            }
            phase_ = Phase::plan;
            [[fallthrough]];
        case Phase::plan:
        plan:
            if (!run_.next()) goto end;
            phase_ = Phase::tasks;
            return Need::tasks;
        case Phase::tasks:
            phase_ = Phase::store;
            if (may_await && isAwaited()) return Need::puts;
            [[fallthrough]];
        case Phase::store:
            run_.storeSuperstep();
            phase_ = Phase::stored;
            if (may_await && isAwaited() && run_.storesAtOnce()) return Need::puts;
            [[fallthrough]];
        case Phase::stored:
            run_.leaveSuperstep();
            if (run_.isPaused()) goto end;
            phase_ = Phase::plan;
            if (hasEvents()) return Need::events;
            goto plan;
        case Phase::failing:
            run_.storeFailure();
            phase_ = Phase::ending;
            if (mayStop()) return stop();
            goto ending;
        end:
            run_.storeEnd();
            phase_ = Phase::ending;
            if (mayStop()) return stop();
            [[fallthrough]];
        case Phase::ending:
        ending:
            if (failure_ && !has_lost_) run_.tellStored();
            run_.tellIndex();
            phase_ = Phase::ended;
            if (may_await && isAwaited()) return Need::puts;
            [[fallthrough]];
        case Phase::ended:
            break;
    }
    return Need::done;
}

}  // namespace stategraph::engine
