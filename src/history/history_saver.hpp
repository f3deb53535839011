#pragma once
#include <stategraph/saver.hpp>

#include "src/graph/core.hpp"

namespace stategraph::engine {

/// The saver that a graph's history is in. Errors: MissingCheckpointerError; InvalidArgumentError without a thread.
BaseCheckpointSaver& historySaver(const detail::Core& core, const Config& config);

}  // namespace stategraph::engine
