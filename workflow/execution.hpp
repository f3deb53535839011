#pragma once
#include <optional>
#include <string>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// What one execution of a step came to.
struct Executed {
    Record record;
    Values shared;
    bool is_canceled = false;
};

/// What an execution begins with: `before` is the step's record, null if it has none; `iteration` counts turns of a loop.
Record beginRecord(const Plan& plan, const Record* before, const Value& input, bool is_loop);

/// Executes a step once, or with all its attempts if it is a workflow. Throws what the step does, for the engine to retry; not PermanentError, which
/// fails the step at once.
Executed execute(const Plan& plan, const Step& step, Record record, const State& state, Runtime& runtime);

/// The name of a step's path.
std::string pathOf(const Plan& plan, std::string_view id);
/// The record of a failure that the engine has retried as often as it may.
Record failedRecord(const Plan& plan, Record record, const NodeFailure& failure);

}  // namespace stategraph::workflow
