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
    if (!root_) {
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
        env_.observation.runEnds(Status::done, env_.limits.begun(), {});
    } catch (...) {
        env_.observation.runEnds(Status::failed, env_.limits.begun(), describedOrEmpty(failure));
    }
}

void Run::observeStored(CheckpointId before, std::int64_t step, Clock::time_point began) noexcept {
    if (env_.log.stored() == before) return;
    env_.observation.tell(&Observer::checkpointStored, CheckpointStored{env_.observation.run(), env_.log.stored(), step,
                                                                        env_.log.recordBytes(), Clock::now() - began});
}

}  // namespace stategraph::engine
