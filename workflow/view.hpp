#pragma once
#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// Returns a run as its state and its due tasks describe it.
RunView viewOf(const Plan& plan, const State& state, const SnapshotData& at);
/// Does the same for a run that has just ended, or asks; the result has no time of a checkpoint.
RunView viewOf(const Plan& plan, const Result<State>& result);

}  // namespace stategraph::workflow
