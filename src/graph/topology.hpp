#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

#include "src/graph/pace.hpp"

// The compiled graph in the form that the superstep needs: arrays by index. Nodes, including the virtual start node,
// are numbered in the order of their stored names, because tasks are planned and their writes applied in that order.
//
// A node has two names, which differ only if it was renamed: `name` is what users write and see; `stored_name` is used
// in the log and in everything derived from it (NodeOptions::stored_as).
namespace stategraph::engine {

using NodeIndex = std::uint32_t;
using JoinIndex = std::uint32_t;
inline constexpr NodeIndex no_node = 0xFFFFFFFF;

/// A join fires its target when every source has run since it last fired.
struct Join {
    std::string key;  // such as "join:a+b:c", with stored names
    std::vector<NodeIndex> sources;
    NodeIndex target;
    bool deferred;  // whether its target is deferred
};

/// A node's place among the sources of a join.
struct JoinSlot {
    JoinIndex join;
    std::uint32_t place;
};

struct Branch {
    detail::RouterAction router;
    bool has_ends = false;
    std::vector<std::pair<std::string, NodeIndex>> ends;  // no_node means END
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

/// Limits a node's attempt. None means no limit.
struct AttemptLimits {
    std::optional<std::chrono::milliseconds> timeout = {};  // limits the whole attempt
    // Limits the time since the attempt last reported progress.
    std::optional<std::chrono::milliseconds> idle_timeout = {};

    bool any() const noexcept { return timeout || idle_timeout; }
};

/// How a node's results are cached.
struct NodeCache {
    CacheKey key;
    std::optional<std::chrono::milliseconds> ttl;
    std::string ns;  // namespace of its entries: the graph, the node, and what the policy says
};

/// The handler that is called when a node has failed.
struct ErrorHandler {
    detail::NodeAction action;
    bool takes_state = false;  // takes the state and not what the node takes, which differs
};

struct Node {
    std::string name;
    std::string stored_name;
    detail::NodeAction action;
    std::vector<SharedChannel> projection;  // from the state onto the input, if the input is of another type
    bool projects = false;
    bool payload_only = false;  // takes a type that is not a part of the state, so that only a Send can provide it
    std::optional<Subgraph> subgraph;
    bool deferred = false;
    Pace pace = {};  // of its tasks that have others beside them
    RetryPolicy retry;
    AttemptLimits limits;
    std::size_t seats = 0;  // how many of its tasks may run at the same time; 0 means any number
    std::optional<NodeCache> cache;
    std::optional<ErrorHandler> on_error;
    Value metadata;
    std::vector<NodeIndex> edges;  // static targets in the order added, without END
    std::vector<JoinSlot> joins;   // the joins of which it is a source
    std::vector<Branch> branches;
};

class Topology {
public:
    std::vector<Node> nodes;
    std::vector<Join> joins;  // in the order of their keys
    NodeIndex start = no_node;
    bool has_deferred = false;      // whether some node or join is deferred
    bool has_limits = false;        // whether some node's attempts are limited
    bool has_seats = false;         // whether some node limits how many of its tasks run at the same time
    bool has_lasting = false;       // whether some node is a subgraph whose logs live with the thread
    bool has_keys = false;          // whether some node is a subgraph whose logs have keys
    std::uint64_t fingerprint = 0;  // of stored names, edges, joins and branches

    /// Finds a node by its name; returns no_node if there is none.
    NodeIndex find(std::string_view name) const noexcept { return in(by_name_, name); }
    /// Finds a node by its name in the log.
    NodeIndex findStored(std::string_view name) const noexcept { return in(by_stored_name_, name); }
    /// Returns the name of a node of the log, or its stored name if the graph does not have the node.
    std::string_view shownName(std::string_view stored_name) const noexcept {
        const NodeIndex node = findStored(stored_name);
        return node == no_node ? stored_name : std::string_view(nodes[node].name);
    }
    JoinIndex findJoin(std::string_view key) const noexcept { return in(joins_by_key_, key); }
    /// Call it after nodes and joins are complete. They must not be moved afterwards.
    void index();

private:
    using Index = std::unordered_map<std::string_view, std::uint32_t>;
    static std::uint32_t in(const Index& index, std::string_view name) noexcept {
        const auto found = index.find(name);
        return found == index.end() ? no_node : found->second;
    }

    Index by_name_;
    Index by_stored_name_;
    Index joins_by_key_;
};

/// Returns the checked graph in runnable form. Throws InvalidGraphError with every fault found.
Topology buildTopology(const detail::GraphSpec& graph, const CompileOptions& options);

}  // namespace stategraph::engine
