#pragma once
#include <optional>
#include <string>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// What one execution of a step did in addition to its record.
struct Executed {
    Values shared = {};
    Additions additions = {};
    bool is_canceled = false;
};

/// Makes a new record what an execution begins with: `before` is the step's record, null if it has none; `iteration`
/// counts turns of a loop.
void beginRecord(const Plan& plan, const Record* before, const Value& input, bool is_loop, Record& record);

/// Executes a step once, or with all its attempts if it is a workflow, and completes its record. Throws what the step
/// does, for the engine to retry; not PermanentError, which fails the step at once.
Executed execute(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime);
/// The same of a step that is a coroutine.
Task<Executed> awaitExecution(const Plan& plan, const Place& place, Record& record, const State& state,
                              Runtime& runtime);

/// Completes the record of a failure that the engine has retried as often as it may.
void fail(const Plan& plan, Record& record, const NodeFailure& failure);

}  // namespace stategraph::workflow
