#pragma once
#include <string>
#include <vector>

#include "src/graph/core.hpp"

// Plans a run that begins at a checkpoint of a subgraph.
namespace stategraph::engine {

/// The checkpoint of a log at which one of the runs begins.
struct TravelStop {
    std::string ns;
    CheckpointId id;
};

/// Returns the stops on the way to a subgraph's checkpoint, which say where each outer graph was at that time. The
/// root's stop is first and the requested checkpoint is last. Errors: InvalidArgumentError if there is no such subgraph
/// or checkpoint, or if one of the outer graphs can no longer begin there; and those of `checkResumption` for the
/// graphs inside.
std::vector<TravelStop> planTravel(const detail::Core& root, BaseCheckpointSaver& saver, const RunConfig& config);

}  // namespace stategraph::engine
