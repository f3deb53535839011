#pragma once
#include "workflow/execution.hpp"

namespace stategraph::workflow {

/// Executes a step that is a workflow, with all its attempts, each of which begins from the start. The workflow has
/// failed, suspended or succeeded as the record then says.
Executed executeNested(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime);

}  // namespace stategraph::workflow
