#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/graph_description.hpp>
#include <stategraph/record.hpp>

// Whose descriptions an exported thread has: those of the graphs that made its commits, and of the graphs inside them.
namespace stategraph::commands {

/// The graphs of one log. A record says its graph only where that is not its parent's; a sealed one says nothing.
class LogGraphs {
public:
    /// Of each commit, the newest first. Errors: CorruptCheckpointError for a record that cannot be read.
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

/// Calls `write` once for each stored description of these graphs and of those inside them, in an order that depends on
/// nothing else. One that is not stored or cannot be read is left out: a thread is read without it.
void forEachDescription(BaseCheckpointSaver& saver, const std::set<GraphFingerprint>& graphs,
                        const std::function<void(const GraphFingerprint&, std::string_view bytes)>& write);

/// What `putGraph` kept. Errors: WrongTypeError for bytes that are no description, or that of another graph.
GraphDescription descriptionOf(const GraphFingerprint& fingerprint, std::string_view bytes);

}  // namespace stategraph::commands
