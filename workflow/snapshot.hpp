#pragma once
#include <string>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// A run as JSON, of the reference's form.
std::string snapshotJson(const Plan& plan, const std::string& run_id, const RunView& view);

}  // namespace stategraph::workflow
