#include <stategraph/workflow/run.hpp>

#include "workflow/state.hpp"

namespace stategraph::workflow {

const char* toString(RunStatus status) noexcept {
    switch (status) {
        case RunStatus::pending:
            return "pending";
        case RunStatus::running:
            return "running";
        case RunStatus::waiting:
            return "waiting";
        case RunStatus::suspended:
            return "suspended";
        case RunStatus::paused:
            return "paused";
        case RunStatus::success:
            return "success";
        case RunStatus::failed:
            return "failed";
        case RunStatus::canceled:
            return "canceled";
    }
    return "?";
}

const char* toString(Word word) noexcept {
    switch (word) {
        case Word::none:
            return "";
        case Word::running:
            return "running";
        case Word::waiting:
            return "waiting";
        case Word::suspended:
            return "suspended";
        case Word::success:
            return "success";
        case Word::failed:
            return "failed";
        case Word::bailed:
            return "bailed";
        case Word::paused:
            return "paused";
        case Word::canceled:
            return "canceled";
    }
    return "?";
}

const char* toString(StepStatus status) noexcept {
    switch (status) {
        case StepStatus::running:
            return "running";
        case StepStatus::waiting:
            return "waiting";
        case StepStatus::suspended:
            return "suspended";
        case StepStatus::success:
            return "success";
        case StepStatus::failed:
            return "failed";
    }
    return "?";
}

const char* toString(Refusal why) noexcept {
    switch (why) {
        case Refusal::not_suspended:
            return "not_suspended";
        case Refusal::ambiguous:
            return "ambiguous";
        case Refusal::unknown_label:
            return "unknown_label";
        case Refusal::already_claimed:
            return "already_claimed";
        case Refusal::invalid_resume_data:
            return "invalid_resume_data";
        case Refusal::invalid_input:
            return "invalid_input";
        case Refusal::invalid_state:
            return "invalid_state";
        case Refusal::invalid_context:
            return "invalid_context";
        case Refusal::invalid_target:
            return "invalid_target";
        case Refusal::not_active:
            return "not_active";
        case Refusal::changed_definition:
            return "changed_definition";
    }
    return "?";
}

const char* toString(RunEvent::Kind kind) noexcept {
    switch (kind) {
        case RunEvent::Kind::start:
            return "start";
        case RunEvent::Kind::step_start:
            return "step-start";
        case RunEvent::Kind::step_output:
            return "step-output";
        case RunEvent::Kind::step_progress:
            return "step-progress";
        case RunEvent::Kind::step_waiting:
            return "step-waiting";
        case RunEvent::Kind::step_suspended:
            return "step-suspended";
        case RunEvent::Kind::step_result:
            return "step-result";
        case RunEvent::Kind::canceled:
            return "canceled";
        case RunEvent::Kind::paused:
            return "paused";
        case RunEvent::Kind::finish:
            return "finish";
    }
    return "?";
}

RefusedError::RefusedError(Refusal why, const std::string& text) : InvalidArgumentError(text), why_(why) {}

}  // namespace stategraph::workflow
