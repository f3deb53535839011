#pragma once
#include <stategraph/saver.hpp>

#include "src/graph/core.hpp"

namespace stategraph::engine {

/// Returns the saver that stores a graph's history. Errors: MissingCheckpointerError; InvalidArgumentError without a
/// thread.
BaseCheckpointSaver& historySaver(const detail::Core& core, const Config& config);

}  // namespace stategraph::engine
