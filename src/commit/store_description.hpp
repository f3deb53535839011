#pragma once
#include <stategraph/detail/core.hpp>
#include <stategraph/saver.hpp>

namespace stategraph::engine {

/// Gives a graph's description to the saver, unless that object has it. Errors: those of the saver.
void storeDescription(BaseCheckpointSaver& saver, const detail::Core& core);

}  // namespace stategraph::engine
