#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/detail/node.hpp>

// The functions that StateGraph<S> calls: a graph that is being built, without its types and without its data
// (graph_builder.hpp), so that users' files do not compile these.
namespace stategraph {

struct NodeOptions;
struct CompileOptions;
struct NodeDefaults;
class PathMap;
class NodeNames;

namespace detail {

class Core;
struct GraphSpec;

/// Where the saver of a graph comes from.
enum class CheckpointerKind : std::uint8_t { none, own, inherit, per_thread };

/// Selects the log of a subgraph with which a visit continues.
struct LogKey {
    std::shared_ptr<void> callable;
    void (*call)(const void* callable, const void* state, std::string& key) = nullptr;
    TypeKey state = nullptr;  // the type of state that `key` takes

    bool empty() const noexcept { return call == nullptr; }
};

/// A compiled graph as a node, and how state is passed to it and back.
struct SubgraphSpec {
    std::shared_ptr<const Core> core;
    /// The user's two functions; null: channels of the same name and type are shared.
    std::shared_ptr<void> to_inner_callable;
    void (*to_inner)(const void* callable, const void* state, Writes& input) = nullptr;
    std::shared_ptr<void> from_inner_callable;
    void (*from_inner)(const void* callable, const void* inner_state, Writes& update) = nullptr;
    /// The payload of a Send to it, and how the payload becomes its input.
    const ValueOps* payload = nullptr;
    void (*from_payload)(const Schema& inner, const void* payload, Writes& input) = nullptr;
};

/// Owns a GraphSpec. A value; after a move it is a graph without nodes over the same state.
class GraphBuilder {
public:
    GraphBuilder();
    GraphBuilder(const GraphBuilder& other);
    GraphBuilder(GraphBuilder&& other);
    GraphBuilder& operator=(const GraphBuilder& other);
    GraphBuilder& operator=(GraphBuilder&& other);
    ~GraphBuilder();

    GraphSpec& spec() noexcept { return *spec_; }

    void addNode(std::string&& name, NodeAction&& action, const NodeOptions& options);
    void addSubgraph(std::string&& name, SubgraphSpec&& subgraph, const NodeOptions& options);
    void setNodeDefaults(const NodeDefaults& defaults);
    void onError(std::string&& node, NodeAction&& handler, const NodeNames& ends);
    void addEdge(std::string&& from, std::string&& to);
    void addJoin(std::vector<std::string>&& from, std::string&& to);
    void addBranch(std::string&& from, RouterAction&& router, const PathMap& ends);

    /// Throws InvalidGraphError with every fault.
    std::shared_ptr<const Core> compile(const CompileOptions& options) const;
    std::string toMermaid() const;
    std::string toDot() const;

private:
    static GraphSpec take(GraphSpec& from);

    GraphSpec* spec_;
};

/// Sets the state of a graph, and the channels that it accepts and returns.
void describeGraph(GraphSpec& spec, const Schema& state, const Schema& input, const Schema& output);
/// Converts a payload of the state's type to the input of a subgraph over it.
void payloadToInput(const Schema& inner, const void* payload, Writes& input);

}  // namespace detail
}  // namespace stategraph
