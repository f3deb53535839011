#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/detail/node.hpp>
#include <stategraph/retry.hpp>

// The builder's data, without types: what StateGraph<S> fills and compile() checks and turns into a Core.
namespace stategraph {

class BaseCheckpointSaver;
class BaseStore;
class Executor;
class IdSource;

namespace detail {

class Core;

/// A compiled graph as a node, and how state passes in and out.
struct SubgraphSpec {
    std::shared_ptr<const Core> core;
    /// The user's two functions; null: channels of the same name and type are shared.
    std::shared_ptr<void> to_inner_callable;
    void (*to_inner)(const void* callable, const void* state, Writes& input) = nullptr;
    std::shared_ptr<void> from_inner_callable;
    void (*from_inner)(const void* callable, const void* inner_state, Writes& update) = nullptr;
    /// What a Send to it carries, and how that becomes its input.
    const ValueOps* payload = nullptr;
    void (*from_payload)(const Schema& inner, const void* payload, Writes& input) = nullptr;
};

struct NodeSpec {
    std::string name;
    NodeAction action;
    std::optional<SubgraphSpec> subgraph = {};
    bool defer = false;
    RetryPolicy retry = {};
    Value metadata = {};
    /// Where a Command of this node may lead; none: not declared.
    std::optional<std::vector<std::string>> ends = {};
    /// Its name in the log; empty: `name`.
    std::string stored_as = {};

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

/// How a graph gets its saver.
enum class CheckpointerKind : std::uint8_t { none, own, inherit, per_thread };

struct CompileSpec {
    std::shared_ptr<BaseCheckpointSaver> saver = {};
    CheckpointerKind checkpointer = CheckpointerKind::inherit;
    std::vector<std::string> interrupt_before = {};
    std::vector<std::string> interrupt_after = {};
    std::shared_ptr<Executor> executor = {};
    std::shared_ptr<IdSource> ids = {};
    std::shared_ptr<BaseStore> store = {};
};

struct GraphSpec {
    const Schema* state = nullptr;
    /// Channels (indexes of `state`) that the graph accepts and returns.
    std::vector<ChannelIndex> input;
    std::vector<ChannelIndex> output;
    std::vector<NodeSpec> nodes;
    std::vector<EdgeSpec> edges;
    std::vector<BranchSpec> branches;
    std::shared_ptr<const void> keep_alive;  // a schema made at run time
};

/// Checks everything and builds the runnable form. Throws InvalidGraphError with every fault.
std::shared_ptr<const Core> compileGraph(GraphSpec graph, CompileSpec options);

/// Drawings of a graph as it was built, checked or not.
std::string toMermaid(const GraphSpec& graph);
std::string toDot(const GraphSpec& graph);

}  // namespace detail
}  // namespace stategraph
