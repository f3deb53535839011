#pragma once
#include <string>
#include <vector>

#include "src/graph/core.hpp"

// A run that begins at a checkpoint of a subgraph.
namespace stategraph::engine {

/// Where one of the runs begins: a checkpoint of a log.
struct TravelStop {
    std::string ns;
    CheckpointId id;
};

/// The stops on the way to a subgraph's checkpoint, the root's first and the wanted one last: where each graph around
/// it was at that time. Errors: InvalidArgumentError if there is no such subgraph or checkpoint, or one of the graphs
/// around it cannot begin there any more; and what `checkResumption` says of those inside.
std::vector<TravelStop> planTravel(const detail::Core& root, BaseCheckpointSaver& saver, const RunConfig& config);

}  // namespace stategraph::engine
