#include <atomic>

#include <stategraph/error.hpp>

#include "src/run/run.hpp"

// Reports a run to observers and to readers of its events: its beginning, its end, and what it stores.
namespace stategraph::engine {

void Run::observeStart() noexcept {
    static std::atomic<std::uint64_t> runs = 0;
    ObservedRun run{.run_id = ++runs,
                    .parent_run_id = 0,
                    .parent_task_id = {},
                    .thread_id = env_.shared.config->thread_id.view(),
                    .checkpoint_ns = env_.place.ns};
    if (env_.link != nullptr) {
        run.parent_run_id = env_.link->env->observation.run().run_id;
        run.parent_task_id = env_.link->task->id;
    }
    env_.observation.runStarts(run);
}

void Run::observeFailure(const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const ParentCommandSignal&) {
        env_.observation.superstepEnds(Status::done);
        env_.observation.runEnds(Status::done, env_.supersteps.begun, {});
    } catch (...) {
        env_.observation.runEnds(Status::failed, env_.supersteps.begun, describedOrEmpty(failure));
    }
}

// For the root, this is the last action of the run, because a subscriber that is notified may begin the next run.
void Run::tellEnd(Status ending, const std::vector<Interrupt>& interrupts, std::string_view error) noexcept {
    if (env_.link != nullptr) return;
    env_.shared.claim.release();
    if (!env_.teller.any()) return;
    env_.teller.runEnds({.ending = ending,
                         .interrupts = interrupts,
                         .error = error,
                         .wake_at = outcome_.wake_at,
                         .stored = env_.log.stored()});
}

void Run::tellFailedEnd(const std::exception_ptr& failure) noexcept {
    if (env_.link != nullptr) return;
    std::vector<Interrupt> interrupts;
    std::string text;
    if (env_.teller.any()) {
        try {
            try {
                std::rethrow_exception(failure);
            } catch (NodeError& error) {  // without dynamic_cast, because a program without RTTI has errors of its own
                error.addContext({.thread_id = env_.shared.config->thread_id.toString()});
                interrupts = error.interrupts();
            } catch (Error& error) {
                error.addContext({.thread_id = env_.shared.config->thread_id.toString()});
            }
        } catch (...) {
            // Either it is no error of this library, or there is no memory. The questions are in the log too.
        }
        text = describedOrEmpty(failure);
    }
    tellEnd(Status::failed, interrupts, text);
}

void Run::observeStored(CheckpointId before, std::int64_t step, Clock::time_point began) noexcept {
    if (env_.log.stored() == before) return;
    env_.observation.tell(&Observer::checkpointStored, CheckpointStored{env_.observation.run(), env_.log.stored(), step,
                                                                        env_.log.recordBytes(), Clock::now() - began});
}

}  // namespace stategraph::engine
