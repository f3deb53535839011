#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

// The compiled graph as the superstep needs it: arrays by index. Nodes are numbered in the order of their stored names,
// the virtual start node among them, because that is the order in which tasks are planned and their writes applied.
//
// A node has two names, which differ only if it was renamed: `name` is what users write and see, `stored_name` what the
// log and everything derived from it has (NodeOptions::stored_as).
namespace stategraph::engine {

using NodeIndex = std::uint32_t;
using JoinIndex = std::uint32_t;
inline constexpr NodeIndex no_node = 0xFFFFFFFF;

/// A join: fires its target when every source has run since it last fired.
struct Join {
    std::string key;  // "join:a+b:c", of stored names
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

/// What a node's attempt may take, in ms; none: any time.
struct AttemptLimits {
    std::optional<std::chrono::milliseconds> timeout = {};       // of the whole attempt
    std::optional<std::chrono::milliseconds> idle_timeout = {};  // since it last gave a sign

    bool any() const noexcept { return timeout || idle_timeout; }
};

/// How a node's results are cached.
struct NodeCache {
    CacheKey key;
    std::optional<std::chrono::milliseconds> ttl;
    std::string ns;  // of its entries: the graph, the node, and what the policy says
};

/// The handler that is called when a node has failed.
struct ErrorHandler {
    detail::NodeAction action;
    bool takes_state = false;  // not what the node takes, which is something else
};

struct Node {
    std::string name;
    std::string stored_name;
    detail::NodeAction action;
    std::vector<SharedChannel> projection;  // of the state onto the input, if that is another type
    bool projects = false;
    bool payload_only = false;  // takes another type that is no part of the state: only a Send brings one
    std::optional<Subgraph> subgraph;
    bool deferred = false;
    RetryPolicy retry;
    AttemptLimits limits;
    std::size_t seats = 0;  // how many of its tasks may run at once; 0: any number
    std::optional<NodeCache> cache;
    std::optional<ErrorHandler> on_error;
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
    bool has_deferred = false;      // some node or join is
    bool has_limits = false;        // some node's attempts are limited
    bool has_seats = false;         // some node may run only so many tasks at once
    bool has_lasting = false;       // some node is a subgraph whose logs live with the thread
    bool has_keys = false;          // some node is a subgraph whose logs have keys
    std::uint64_t fingerprint = 0;  // of stored names, edges, joins and branches

    /// Finds a node by its name; no_node if there is none.
    NodeIndex find(std::string_view name) const noexcept { return in(by_name_, name); }
    /// Finds a node by its name in the log.
    NodeIndex findStored(std::string_view name) const noexcept { return in(by_stored_name_, name); }
    /// The name of a node of the log; its stored name if the graph does not have it.
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

/// The checked graph in runnable form. Throws InvalidGraphError with every fault found.
Topology buildTopology(const detail::GraphSpec& graph, const CompileOptions& options);

}  // namespace stategraph::engine
