#pragma once
#include <cstdint>
#include <string>

#include <stategraph/saver.hpp>

namespace stategraph::inspect {

/// What a prune of a thread drops and leaves, in checkpoints.
struct PruneTrial {
    std::uint64_t dropped = 0;
    std::uint64_t kept = 0;
};

/// The same prune of a copy in memory: nothing is stored. `request.thread_id` is not read. Errors: those of
/// exportThread, importThread and prune. Cost: that of reading the thread, all of which is in memory.
PruneTrial tryPrune(BaseCheckpointSaver& saver, const std::string& thread_id, PruneRequest request);

}  // namespace stategraph::inspect
