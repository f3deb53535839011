#include "inspect/prune_trial.hpp"

#include <sstream>

#include <stategraph/export.hpp>
#include <stategraph/memory_saver.hpp>

namespace stategraph::inspect {

PruneTrial tryPrune(BaseCheckpointSaver& saver, const std::string& thread_id, PruneRequest request) {
    std::stringstream lines;
    const ThreadRows rows = exportThread(saver, thread_id, lines);
    MemorySaver copy;
    importThread(copy, lines);
    request.thread_id = thread_id;
    const std::size_t dropped = copy.prune(request);
    return {dropped, rows.commits - dropped};
}

}  // namespace stategraph::inspect
