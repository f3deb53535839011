#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/config.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/graph_fingerprint.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

// The structure of a graph as data, for drawing it, and for reading threads without their program. A run stores it once
// for each version of its graph, so that old threads are shown with the graph that created them.
namespace stategraph {

/// Stored as the text "GRAPH-SCHEMA", 16 hexadecimal digits each, because the numbers of JSON are too small.
template <>
struct Codec<GraphFingerprint> {
    static void encode(Encoder& encoder, const GraphFingerprint& fingerprint);
    static void decode(Decoder& decoder, GraphFingerprint& fingerprint);
};

/// A node of a graph.
struct DescribedNode {
    std::string name;
    /// The node's name in the log (NodeOptions::stored_as); empty: its own name.
    std::string stored_as;
    /// NodeOptions::defer
    bool deferred = false;
    /// For a node that is a graph: the fingerprints of that graph, under which its own description is stored.
    std::optional<GraphFingerprint> subgraph;
    /// NodeOptions::metadata; null if it has none.
    Value metadata;
    static constexpr auto fields() {
        return stategraph::fields(field("name", &DescribedNode::name), field("stored_as", &DescribedNode::stored_as),
                                  field("deferred", &DescribedNode::deferred),
                                  field("subgraph", &DescribedNode::subgraph),
                                  field("metadata", &DescribedNode::metadata));
    }
};

/// An edge from one node to another; START and END are "__start__" and "__end__".
struct DescribedEdge {
    std::string from;
    std::string to;
    static constexpr auto fields() {
        return stategraph::fields(field("from", &DescribedEdge::from), field("to", &DescribedEdge::to));
    }
};

/// An edge that waits for several nodes.
struct DescribedJoin {
    std::vector<std::string> from;
    std::string to;
    static constexpr auto fields() {
        return stategraph::fields(field("from", &DescribedJoin::from), field("to", &DescribedJoin::to));
    }
};

/// A label that a router may return, and the node to which it leads.
struct DescribedEnd {
    std::string label;
    std::string to;
    static constexpr auto fields() {
        return stategraph::fields(field("label", &DescribedEnd::label), field("to", &DescribedEnd::to));
    }
};
/// A router of a node.
struct DescribedBranch {
    std::string from;
    /// The nodes to which the router may lead. None: it may lead to any node.
    std::optional<std::vector<DescribedEnd>> ends;
    static constexpr auto fields() {
        return stategraph::fields(field("from", &DescribedBranch::from), field("ends", &DescribedBranch::ends));
    }
};

/// The targets of the Commands of a node, or of its error handler, as far as they were declared.
struct DescribedGoto {
    std::string from;
    std::vector<std::string> to;
    bool on_error = false;
    static constexpr auto fields() {
        return stategraph::fields(field("from", &DescribedGoto::from), field("to", &DescribedGoto::to),
                                  field("on_error", &DescribedGoto::on_error));
    }
};

/// A channel of a graph.
struct DescribedChannel {
    std::string name;
    /// "last_value", "any_value", "ephemeral", "untracked", "reduced" or "topic".
    std::string kind;
    /// The reducer's stable name; empty if there is no reducer.
    std::string reducer;
    /// The value before any write; none if the channel has none, or if it cannot be stored.
    std::optional<Value> initial;
    /// What its type is stored as: "boolean", "number", "text", "list" (std::vector) or "map" (a struct with a table).
    /// Empty for other types, for states as JSON, and in descriptions of earlier versions.
    std::string holds;
    /// The names under which older threads have it (formerly()); empty in descriptions of earlier versions.
    std::vector<std::string> former_names;
    static constexpr auto fields() {
        return stategraph::fields(field("name", &DescribedChannel::name), field("kind", &DescribedChannel::kind),
                                  field("reducer", &DescribedChannel::reducer),
                                  field("initial", &DescribedChannel::initial),
                                  field("holds", &DescribedChannel::holds, defaulted),
                                  field("former_names", &DescribedChannel::former_names, defaulted));
    }
};

/// A graph as data.
struct GraphDescription {
    GraphFingerprint fingerprint;
    /// The nodes in the order in which they were added.
    std::vector<DescribedNode> nodes;
    std::vector<DescribedEdge> edges;
    std::vector<DescribedJoin> joins;
    std::vector<DescribedBranch> branches;
    std::vector<DescribedGoto> gotos;
    std::vector<DescribedChannel> channels;

    /// Finds a node by its name, or by its name in the log; null if there is none.
    const DescribedNode* find(std::string_view name) const noexcept;
    const DescribedNode* findStored(std::string_view name) const noexcept;
    /// Finds a channel by its name or a former one; null if there is none.
    const DescribedChannel* findChannel(std::string_view name) const noexcept;
    /// The current name of a node, given its name in the log; the same name if the graph does not have the node.
    std::string shownName(std::string_view stored) const;
    static constexpr auto fields() {
        return stategraph::fields(
            field("fingerprint", &GraphDescription::fingerprint), field("nodes", &GraphDescription::nodes),
            field("edges", &GraphDescription::edges), field("joins", &GraphDescription::joins),
            field("branches", &GraphDescription::branches), field("gotos", &GraphDescription::gotos),
            field("channels", &GraphDescription::channels));
    }
};

namespace detail {
class Core;
GraphDescription describeGraph(const Core& core);
std::vector<GraphDescription> describeGraphs(const Core& core);
}  // namespace detail

/// A graph as data; the graphs inside it have descriptions of their own. `toJson(description)` converts it to JSON,
/// `fromJson<GraphDescription>(text)` back. Cost: in proportion to its nodes and channels.
template <class App>
GraphDescription describeGraph(const App& app) {
    return detail::describeGraph(*app.core());
}

/// Does the same for a graph and all graphs inside it, each once; the graph itself comes first. `stategraph check
/// --graph` reads their JSON, `toJson(describeGraphs(app))`.
template <class App>
std::vector<GraphDescription> describeGraphs(const App& app) {
    return detail::describeGraphs(*app.core());
}

/// Returns the description of the graph that created a checkpoint; without `config.checkpoint_id`, the newest of its
/// log. None if the log has no such checkpoint, or if no description is stored: it was made by an earlier version of
/// the library, or the saver keeps none. Errors: as `readCheckpoint`. Cost: reading the log from the checkpoint's base.
std::optional<GraphDescription> readGraph(BaseCheckpointSaver& saver, const Config& config);
/// Returns the description with these fingerprints; none if none is stored.
std::optional<GraphDescription> readGraph(BaseCheckpointSaver& saver, const GraphFingerprint& fingerprint);

}  // namespace stategraph
