#pragma once
#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// A run as its state and the tasks that are due tell it.
RunView viewOf(const Plan& plan, const State& state, const SnapshotData& at);
/// The same of a run that has just ended, or asks; without the time of its checkpoint.
RunView viewOf(const Plan& plan, const Result<State>& result);

}  // namespace stategraph::workflow
