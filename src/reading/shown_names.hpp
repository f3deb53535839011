#pragma once
#include <optional>
#include <vector>

#include <stategraph/graph_description.hpp>

#include "src/checkpoint/due_tasks.hpp"

namespace stategraph::reading {

/// Maps the nodes of a log to the names that users know, as far as a description of its graph is stored.
class ShownNames {
public:
    /// Reads the names of the graph that created a checkpoint, or of a graph by its fingerprints. A description that
    /// cannot be read counts as missing. Errors: SaverError.
    ShownNames(BaseCheckpointSaver& saver, const Config& config);
    ShownNames(BaseCheckpointSaver& saver, const GraphFingerprint& fingerprint);

    const std::optional<GraphDescription>& graph() const noexcept { return graph_; }
    void show(std::vector<checkpoint::DueTask>& due) const;

private:
    std::optional<GraphDescription> graph_;
};

}  // namespace stategraph::reading
