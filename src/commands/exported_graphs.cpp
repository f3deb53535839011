#include "src/commands/exported_graphs.hpp"

#include <map>
#include <ranges>
#include <string>

#include <stategraph/error.hpp>

#include "src/checkpoint/commit_fields.hpp"
#include "src/checkpoint/sealed_record.hpp"

namespace stategraph::commands {

void LogGraphs::add(const RowKey& key, std::string_view bytes, CheckpointId parent) {
    if (checkpoint::isSealed(bytes)) return;
    const checkpoint::CommitFields fields = checkpoint::readCommit(key, bytes, true);
    said_.push_back({key.id, parent, fields.graph, fields.schema});
}

void LogGraphs::addTo(std::set<GraphFingerprint>& graphs) const {
    std::map<CheckpointId, GraphFingerprint> known;
    for (const Said& commit : said_ | std::views::reverse) {
        const auto parent = known.find(commit.parent);
        GraphFingerprint graph = parent == known.end() ? GraphFingerprint{} : parent->second;
        graph.graph = commit.graph.value_or(graph.graph);
        graph.schema = commit.schema.value_or(graph.schema);
        known.emplace(commit.id, graph);
        graphs.insert(graph);
    }
}

void forEachDescription(BaseCheckpointSaver& saver, const std::set<GraphFingerprint>& graphs,
                        const std::function<void(const GraphFingerprint&, std::string_view bytes)>& write) {
    std::set<GraphFingerprint> seen = graphs;
    std::vector<GraphFingerprint> left(graphs.rbegin(), graphs.rend());
    while (!left.empty()) {
        const GraphFingerprint fingerprint = left.back();
        left.pop_back();
        const auto bytes = saver.getGraph(fingerprint);
        if (!bytes) continue;
        try {
            for (const DescribedNode& node : descriptionOf(fingerprint, *bytes).nodes)
                if (node.subgraph && seen.insert(*node.subgraph).second) left.push_back(*node.subgraph);
        } catch (const WrongTypeError&) {
            continue;
        }
        write(fingerprint, *bytes);
    }
}

GraphDescription descriptionOf(const GraphFingerprint& fingerprint, std::string_view bytes) {
    auto description = Value::fromCbor(std::string(bytes)).as<GraphDescription>();
    if (description.fingerprint != fingerprint) throw WrongTypeError("the description is that of another graph");
    return description;
}

}  // namespace stategraph::commands
