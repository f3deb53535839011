#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

// The compiled graph as the superstep needs it: arrays by index. Nodes are numbered in the order of their names, the virtual start
// node among them, because that is the order in which tasks are planned and their writes applied.
namespace stategraph::engine {

using NodeIndex = std::uint32_t;
using JoinIndex = std::uint32_t;
inline constexpr NodeIndex no_node = 0xFFFFFFFF;

/// A join: fires its target when every source has run since it last fired.
struct Join {
    std::string key;  // "join:a+b:c"
    std::vector<NodeIndex> sources;
    NodeIndex target;
    bool deferred;  // its target is
};

/// A node's place among the sources of a join.
struct JoinSlot {
    JoinIndex join;
    std::uint32_t place;
};

struct Branch {
    detail::RouterAction router;
    bool has_ends = false;
    std::vector<std::pair<std::string, NodeIndex>> ends;  // no_node: END
};

/// One channel that a node's input or a subgraph shares with the state.
struct SharedChannel {
    detail::ChannelIndex outer;
    detail::ChannelIndex inner;
};

struct Subgraph {
    detail::SubgraphSpec spec;
    std::vector<SharedChannel> in;
    std::vector<SharedChannel> out;
};

struct Node {
    std::string name;
    detail::NodeAction action;
    std::vector<SharedChannel> projection;  // of the state onto the input, if that is another type
    bool projects = false;
    bool payload_only = false;  // takes another type that is no part of the state: only a Send brings one
    std::optional<Subgraph> subgraph;
    bool deferred = false;
    RetryPolicy retry;
    Value metadata;
    std::vector<NodeIndex> edges;  // static targets, in the order added; END left out
    std::vector<JoinSlot> joins;   // of which it is a source
    std::vector<Branch> branches;
};

class Topology {
public:
    std::vector<Node> nodes;
    std::vector<Join> joins;  // in the order of their keys
    NodeIndex start = no_node;
    std::uint64_t fingerprint = 0;  // of names, edges, joins and branches

    /// no_node if there is none.
    NodeIndex find(std::string_view name) const noexcept {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? no_node : found->second;
    }
    JoinIndex findJoin(std::string_view key) const noexcept {
        const auto found = joins_by_key_.find(key);
        return found == joins_by_key_.end() ? no_node : found->second;
    }
    /// After nodes and joins are in place. They must not move any more.
    void index();

private:
    std::unordered_map<std::string_view, NodeIndex> by_name_;
    std::unordered_map<std::string_view, JoinIndex> joins_by_key_;
};

/// The checked graph in runnable form. Throws InvalidGraphError with every fault found.
Topology buildTopology(const detail::GraphSpec& graph, const detail::CompileSpec& options);

}  // namespace stategraph::engine
