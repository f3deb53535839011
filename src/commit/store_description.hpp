#pragma once
#include <stategraph/detail/core.hpp>
#include <stategraph/saver.hpp>

namespace stategraph::engine {

/// Passes a graph's description to the saver, unless this saver object has stored it. Errors: those of the saver.
void storeDescription(BaseCheckpointSaver& saver, const detail::Core& core);

}  // namespace stategraph::engine
