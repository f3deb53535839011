#include <stategraph/observer.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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

/// Whether the attribute has what a prompt, an answer, arguments or a result says (OpenTelemetry's conventions).
bool isContent(const SpanAttribute& attribute) noexcept {
    static constexpr std::string_view names[] = {"gen_ai.input.messages", "gen_ai.output.messages",
                                                 "gen_ai.system_instructions", "gen_ai.tool.call.arguments",
                                                 "gen_ai.tool.call.result"};
    return std::ranges::find(names, std::string_view(attribute.first)) != std::end(names);
}

/// Calls `tell` with each observer and the attributes that it wants: a run may have one that wants contents, and one
/// that must not have them.
template <class Tell>
void tellEach(const engine::Observation& observation, std::span<const SpanAttribute> attributes, const Tell& tell) {
    std::optional<std::vector<SpanAttribute>> facts;
    observation.forEach([&](Observer& observer) {
        if (observer.wantsContent() || std::ranges::none_of(attributes, isContent)) return tell(observer, attributes);
        if (!facts) {
            facts.emplace();
            std::ranges::remove_copy_if(attributes, std::back_inserter(*facts), isContent);
        }
        tell(observer, std::span<const SpanAttribute>(*facts));
    });
}

void describe(Runtime& runtime, std::optional<TaskId> task, std::string_view name,
              std::span<const SpanAttribute> attributes) noexcept {
    withObservation(runtime, [&](const engine::Observation& observation) {
        tellEach(observation, attributes, [&](Observer& observer, std::span<const SpanAttribute> wanted) {
            observer.tell(&Observer::described, Described{observation.run(), task, name, wanted});
        });
    });
}

}  // namespace

Interest interestIn(Runtime& runtime) noexcept {
    Interest interest = Interest::none;
    withObservation(runtime, [&](const engine::Observation& observation) { interest = observation.interest(); });
    return interest;
}

void reportOperation(Runtime& runtime, const Operation& operation) noexcept {
    withObservation(runtime, [&](const engine::Observation& observation) {
        tellEach(observation, operation.attributes, [&](Observer& observer, std::span<const SpanAttribute> wanted) {
            Operation told = operation;
            told.attributes = wanted;
            observer.tell(&Observer::operationEnds,
                          OperationEnd{observation.run(), runtime.node(), runtime.taskId(), runtime.attempt(), told});
        });
    });
}

void describeTask(Runtime& runtime, std::string_view name, std::span<const SpanAttribute> attributes) noexcept {
    try {
        describe(runtime, runtime.taskId(), name, attributes);
    } catch (...) {  // there is no memory for the task's name
    }
}

void describeRun(Runtime& runtime, std::string_view name, std::span<const SpanAttribute> attributes) noexcept {
    describe(runtime, {}, name, attributes);
}

}  // namespace stategraph
