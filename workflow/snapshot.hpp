#pragma once
#include <string>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// Returns a run as JSON in the form of the reference.
std::string snapshotJson(const Plan& plan, const std::string& run_id, const RunView& view);

}  // namespace stategraph::workflow
