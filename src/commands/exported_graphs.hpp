#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/graph_description.hpp>
#include <stategraph/record.hpp>

// Finds the graphs whose descriptions an exported thread includes: those that created its commits, and the graphs
// inside them.
namespace stategraph::commands {

/// Collects the graphs of one log. A record names its graph only where that differs from its parent's; a sealed record
/// names none.
class LogGraphs {
public:
    /// Adds a commit; the newest must come first. Errors: CorruptCheckpointError for a record that cannot be read.
    void add(const RowKey& key, std::string_view bytes, CheckpointId parent);
    void addTo(std::set<GraphFingerprint>& graphs) const;

private:
    struct Said {
        CheckpointId id;
        CheckpointId parent;
        std::optional<std::uint64_t> graph;
        std::optional<std::uint64_t> schema;
    };
    std::vector<Said> said_;
};

/// Calls `write` once for each stored description of these graphs and of the graphs inside them. The order depends on
/// nothing else. A description that is not stored or cannot be read is left out, since a thread can be read without it.
void forEachDescription(BaseCheckpointSaver& saver, const std::set<GraphFingerprint>& graphs,
                        const std::function<void(const GraphFingerprint&, std::string_view bytes)>& write);

/// Decodes what `putGraph` stored. Errors: WrongTypeError for bytes that are not a description, or are the description
/// of another graph.
GraphDescription descriptionOf(const GraphFingerprint& fingerprint, std::string_view bytes);

}  // namespace stategraph::commands
