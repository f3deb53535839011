#pragma once
#include <string_view>

#include <stategraph/saver.hpp>

namespace stategraph::engine {

/// Cancels a thread as CompiledGraph::cancelThread does, without its graph: next to its newest checkpoint. Returns
/// false if nothing was due. Errors: those of the saver.
bool cancelWithoutGraph(BaseCheckpointSaver& saver, std::string_view thread_id);

}  // namespace stategraph::engine
