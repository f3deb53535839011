#pragma once
#include <vector>

#include "workflow/flow_impl.hpp"

namespace stategraph::workflow {

/// Errors: InvalidArgumentError for a limit of 0; what the saver throws.
std::vector<ListedRun> listRuns(const Flow::Impl& flow, const RunQuery& query);

}  // namespace stategraph::workflow
