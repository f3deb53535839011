#pragma once
#include <cstdint>
#include <string>

#include <stategraph/saver.hpp>

namespace stategraph::inspect {

/// The numbers of checkpoints that a prune of a thread drops and keeps, in all its logs.
struct PruneTrial {
    std::uint64_t dropped = 0;
    std::uint64_t kept = 0;
};

/// Prunes a copy of the thread in memory, and stores nothing. Ignores `request.thread_id`. Errors: those of
/// exportThread, importThread and prune. Cost: reads the whole thread, and holds it in memory twice.
PruneTrial tryPrune(BaseCheckpointSaver& saver, const std::string& thread_id, PruneRequest request);

}  // namespace stategraph::inspect
