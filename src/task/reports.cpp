#include <stategraph/observer.hpp>

#include <stategraph/runtime.hpp>

#include "src/superstep/task_context.hpp"
#include "src/task/task_env.hpp"

// Passes what the code of a node reports of its work to the observers of the run.
namespace stategraph {

namespace {

/// Calls `f` with the run's observation, unless nobody observes the run, or the attempt was abandoned.
template <class F>
void withObservation(Runtime& runtime, F f) noexcept {
    try {
        const engine::HeldRun held = runtime.taskContext().hold();
        if (held.env == nullptr || !held.env->observation) return;
        f(held.env->observation);
    } catch (...) {  // abandoned, or without memory: a report is not worth the run
    }
}

}  // namespace

Interest interestIn(Runtime& runtime) noexcept {
    Interest interest = Interest::none;
    withObservation(runtime, [&](const engine::Observation& observation) { interest = observation.interest(); });
    return interest;
}

void reportOperation(Runtime& runtime, const Operation& operation) noexcept {
    withObservation(runtime, [&](const engine::Observation& observation) {
        observation.tell(&Observer::operationEnds, OperationEnd{observation.run(), runtime.node(), runtime.taskId(),
                                                                runtime.attempt(), operation});
    });
}

void describeTask(Runtime& runtime, std::string_view name, std::span<const SpanAttribute> attributes) noexcept {
    withObservation(runtime, [&](const engine::Observation& observation) {
        observation.tell(&Observer::described, Described{observation.run(), runtime.taskId(), name, attributes});
    });
}

void describeRun(Runtime& runtime, std::string_view name, std::span<const SpanAttribute> attributes) noexcept {
    withObservation(runtime, [&](const engine::Observation& observation) {
        observation.tell(&Observer::described, Described{observation.run(), {}, name, attributes});
    });
}

}  // namespace stategraph
