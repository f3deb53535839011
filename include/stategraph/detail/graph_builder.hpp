#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/cache_policy.hpp>
#include <stategraph/detail/builder.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/node.hpp>
#include <stategraph/failure.hpp>
#include <stategraph/retry.hpp>

// The builder's data, without types: what GraphBuilder fills and compile() checks and turns into a Core.
// Not part of what stategraph.hpp includes: users' files would pay for each of these structs.
namespace stategraph {

class BaseCache;
class BaseCheckpointSaver;
class BaseStore;
class Executor;
class IdSource;
class Observer;

namespace detail {

class Core;

struct NodeSpec {
    std::string name;
    NodeAction action;
    std::optional<SubgraphSpec> subgraph = {};
    bool defer = false;
    RetryPolicy retry = {};
    CachePolicy cache = {.use = CacheUse::by_default};
    Value metadata = {};
    /// Where a Command of this node may lead; none: not declared.
    std::optional<std::vector<std::string>> ends = {};
    /// Its name in the log; empty: `name`.
    std::string stored_as = {};
    std::optional<std::chrono::milliseconds> timeout = {};
    std::optional<std::chrono::milliseconds> idle_timeout = {};
    std::optional<int> max_concurrency = {};

    const std::string& storedName() const noexcept { return stored_as.empty() ? name : stored_as; }
};

struct EdgeSpec {
    std::vector<std::string> from;  // several: a join that waits for all
    bool join = false;
    std::string to;
};

struct BranchSpec {
    std::string from;
    RouterAction router;
    /// What the router may return, and where that leads; none: any node.
    std::optional<std::vector<std::pair<std::string, std::string>>> ends = {};
};

struct HandlerSpec {
    std::string node;  // "*": those that have none
    NodeAction action;
    /// Where its Commands may lead; none: not declared.
    std::optional<std::vector<std::string>> ends = {};
};

struct CompileSpec {
    std::shared_ptr<BaseCheckpointSaver> saver = {};
    CheckpointerKind checkpointer = CheckpointerKind::inherit;
    LogKey log_key = {};
    std::vector<std::string> interrupt_before = {};
    std::vector<std::string> interrupt_after = {};
    std::shared_ptr<Executor> executor = {};
    std::shared_ptr<IdSource> ids = {};
    std::shared_ptr<Observer> observer = {};
    std::shared_ptr<BaseStore> store = {};
    std::shared_ptr<BaseCache> cache = {};
    FailurePolicy on_failure = FailurePolicy::wait;
    std::optional<int> recursion_limit = {};
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
    /// Policies of nodes that say nothing themselves.
    RetryPolicy default_retry = {};
    CachePolicy default_cache = {.use = CacheUse::off};
    std::shared_ptr<const void> keep_alive;  // a schema made at run time
};

/// Checks everything and builds the runnable form. Throws InvalidGraphError with every fault.
std::shared_ptr<const Core> compileGraph(GraphSpec graph, CompileSpec options);

/// Drawings of a graph as it was built, checked or not.
std::string toMermaid(const GraphSpec& graph);
std::string toDot(const GraphSpec& graph);

}  // namespace detail
}  // namespace stategraph
