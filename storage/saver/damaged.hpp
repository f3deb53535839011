#pragma once
#include <string>
#include <string_view>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>

namespace stategraph::checkpoint {

/// Prunes one thread. If the request is for every thread, a thread that cannot be read is noted and left as it is:
/// `prune_thread` must not have changed anything when it throws CorruptCheckpointError.
template <class PruneThread>
void pruneOrNote(const PruneRequest& request, std::string_view thread_id, PruneThread&& prune_thread) {
    try {
        prune_thread();
    } catch (const CorruptCheckpointError& error) {
        if (request.thread_id) throw;
        if (request.damaged != nullptr) request.damaged->push_back({std::string(thread_id), error.message()});
    }
}

}  // namespace stategraph::checkpoint
