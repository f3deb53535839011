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

/// Prepares a new record for an execution. `before` is the step's previous record, null if it has none; `iteration`
/// counts turns of a loop.
void beginRecord(const Plan& plan, const Record* before, const Value& input, bool is_loop, Record& record);

/// Executes a step once, or with all its attempts if it is a workflow, and completes its record. Throws the step's
/// exception, which the engine retries. A PermanentError is not thrown, but fails the step immediately.
Executed execute(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime);
/// Does the same for a step that is a coroutine.
Task<Executed> awaitExecution(const Plan& plan, const Place& place, Record& record, const State& state,
                              Runtime& runtime);

/// Completes the record after a failure that the engine has retried as often as it may.
void fail(const Plan& plan, Record& record, const NodeFailure& failure);

}  // namespace stategraph::workflow
