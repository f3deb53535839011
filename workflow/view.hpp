#pragma once
#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// A run as its state and the tasks that are due tell it.
RunView viewOf(const Plan& plan, const State& state, const SnapshotData& at);

}  // namespace stategraph::workflow
