#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/detail/node.hpp>
#include <stategraph/graph_options.hpp>
#include <stategraph/status.hpp>

// The data of GraphBuilder, without types, which compile() checks and turns into a Core. stategraph.hpp does not
// include it, because users' files would have to compile each of these structs.
namespace stategraph {

namespace detail {

class Core;

/// How a run ended in which nothing is due. The error of one that failed is stored with its last commit.
struct Verdict {
    Status ending = Status::done;
    std::string error = {};
};

struct NodeSpec : NodeOptions {
    std::string name = {};
    NodeAction action = {};
    std::optional<SubgraphSpec> subgraph = {};

    /// Its name in the log.
    const std::string& storedName() const noexcept { return stored_as.empty() ? name : stored_as; }
};

struct EdgeSpec {
    std::vector<std::string> from;  // several: the edge is a join, which waits for all
    bool join = false;
    std::string to;
};

struct BranchSpec {
    std::string from;
    RouterAction router;
    /// The labels that the router may return, and their nodes; none: it may lead to any node.
    std::optional<std::vector<std::pair<std::string, std::string>>> ends = {};
};

struct HandlerSpec {
    std::string node;  // "*": for all nodes without a handler of their own
    NodeAction action;
    /// Where its Commands may lead; none: not declared.
    std::optional<std::vector<std::string>> ends = {};
};

struct GraphSpec {
    const Schema* state = nullptr;
    /// Channels (indexes of `state`) that the graph accepts and returns.
    std::vector<ChannelIndex> input;
    std::vector<ChannelIndex> output;
    std::vector<NodeSpec> nodes;
    std::vector<EdgeSpec> edges;
    std::vector<BranchSpec> branches;
    std::vector<HandlerSpec> handlers = {};
    /// Policies of nodes that do not set their own.
    RetryPolicy default_retry = {};
    CachePolicy default_cache = {.use = CacheUse::off};
    std::shared_ptr<const void> keep_alive;  // a schema made at run time
    bool hears_abandoned = false;            // whether nodes use abandonedTasks
    Verdict (*judge)(const void* state) =
        nullptr;  // says how a run ended (detail/verdict.hpp); null: nothing due is done
};

/// Checks everything and builds the runnable form. Throws InvalidGraphError with every fault.
std::shared_ptr<const Core> compileGraph(GraphSpec graph, const CompileOptions& options);

/// Drawings of a graph as it was built, checked or not.
std::string toMermaid(const GraphSpec& graph);
std::string toDot(const GraphSpec& graph);

}  // namespace detail
}  // namespace stategraph
