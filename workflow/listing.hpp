#pragma once
#include <vector>

#include "workflow/flow_impl.hpp"

namespace stategraph::workflow {

/// Throws InvalidArgumentError for a limit of 0, and the saver's errors.
std::vector<ListedRun> listRuns(const Flow::Impl& flow, const RunQuery& query);

}  // namespace stategraph::workflow
