#pragma once
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/cache_policy.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/detail/builder.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/failure.hpp>
#include <stategraph/graph_options.hpp>
#include <stategraph/names.hpp>
#include <stategraph/retry.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

namespace detail {

struct Verdicts;

/// What a graph knows about its state; specialised for states whose channels are named at run time.
template <class S>
struct StateDescription {
    struct Schema;  // none, because the type describes the state completely

    template <class Input, class Output>
    static void describe(GraphSpec& spec) {
        checkState<S>();
        checkPart<Input, S>();
        checkPart<Output, S>();
        describeGraph(spec, schemaOf<S>(), schemaOf<Input>(), schemaOf<Output>());
    }

    /// Describes the payload of a Send to a subgraph over S.
    static void describePayload(SubgraphSpec& spec) {
        if constexpr (Storable<S>) {
            spec.payload = &value_ops<S>;
            spec.from_payload = payloadToInput;
        }
    }
};

}  // namespace detail

/// A graph that is being built: a value that can be filled, copied and compiled. Nothing is checked before `compile()`,
/// which reports all faults at once. Not safe from several threads.
///
/// `S` is the state; `Input` and `Output` are parts of it, structs whose channels have names and types of S's.
template <class S, class Input = S, class Output = S>
class StateGraph {
public:
    StateGraph() { detail::StateDescription<S>::template describe<Input, Output>(builder_.spec()); }
    /// For a state whose channels are named at run time (stategraph/json.hpp). Throws InvalidGraphError with every
    /// fault of the schema.
    explicit StateGraph(const typename detail::StateDescription<S>::Schema& schema) {
        detail::StateDescription<S>::describe(schema, builder_.spec());
    }

    /// Adds a node: a callable `f(const In&)` or `f(const In&, Runtime&)` that returns `Update<S>` or `Command<S>`, or
    /// a coroutine that gives one (stategraph/async.hpp). `In` is the state, a part of
    /// it, or the payload of the Sends that lead here. It is called from several threads at once if runs are.
    template <class F>
        requires(!requires(const std::decay_t<F>& f) { f.core(); })
    StateGraph& addNode(std::string name, F&& action, const NodeOptions& options = NodeOptions::defaults()) {
        using In = typename detail::FirstParameter<std::decay_t<F>, S>::Type;
        builder_.addNode(std::move(name), detail::makeNode<S, In>(std::forward<F>(action)), options);
        return *this;
    }

    /// Does the same for a node with a typed payload.
    template <class Payload, class F>
    StateGraph& addNode(NodeId<Payload> id, F&& action, const NodeOptions& options = NodeOptions::defaults()) {
        requireStorable<Payload>();
        builder_.addNode(id.name, detail::makeNode<S, Payload>(std::forward<F>(action)), options);
        return *this;
    }

    /// Adds a compiled graph as a node. It shares the channels that have the same name and type: they are its input,
    /// and what it returns goes through this graph's reducers. Its checkpoints are stored next to this graph's.
    template <class Inner, class InnerInput, class InnerOutput>
    StateGraph& addNode(std::string name, const CompiledGraph<Inner, InnerInput, InnerOutput>& inner,
                        const NodeOptions& options = NodeOptions::defaults()) {
        builder_.addSubgraph(std::move(name), subgraphOf<Inner>(inner.core()), options);
        return *this;
    }

    /// Does the same with two functions that convert the state: `Update<InnerInput> to_inner(const S&)`, `Update<S>
    /// from_inner(const Inner&)`.
    template <class Inner, class InnerInput, class InnerOutput, class To, class From>
        requires std::is_invocable_v<const To&, const S&>
    StateGraph& addNode(std::string name, const CompiledGraph<Inner, InnerInput, InnerOutput>& inner, To to_inner,
                        From from_inner, const NodeOptions& options = NodeOptions::defaults()) {
        detail::SubgraphSpec spec = subgraphOf<Inner>(inner.core());
        spec.to_inner_callable = detail::own(std::move(to_inner));
        spec.to_inner = [](const void* callable, const void* state, detail::Writes& input) {
            Update<InnerInput> update = (*static_cast<const To*>(callable))(*static_cast<const S*>(state));
            input = detail::widen<Inner>(std::move(update));
        };
        spec.from_inner_callable = detail::own(std::move(from_inner));
        spec.from_inner = [](const void* callable, const void* state, detail::Writes& update) {
            Update<S> made = (*static_cast<const From*>(callable))(*static_cast<const Inner*>(state));
            update = std::move(static_cast<detail::Writes&>(made));
        };
        builder_.addSubgraph(std::move(name), std::move(spec), options);
        return *this;
    }

    /// Never called: it explains that a node has a name.
    template <class F>
    StateGraph& addNode(F&&) {
        static_assert(detail::never<F>, "stategraph: a node has a name: addNode(\"plan\", plan)");
        return *this;
    }

    /// Sets policies for all nodes without their own, including those added later.
    StateGraph& setNodeDefaults(const NodeDefaults& defaults) {
        builder_.setNodeDefaults(defaults);
        return *this;
    }

    /// When `node` has failed for good, after its retries, `handler(const In&, const NodeFailure&)` (or with a Runtime&
    /// as the third parameter) returns the result of its task, as a node would: an Update, or a Command that says where
    /// to go; the node's own edges do not fire. `In` is what the node takes, or the state. What a handler throws fails
    /// the run. "*" is for all nodes without a handler of their own.
    ///
    /// The failure is stored before the handler is called, so that after a crash, or if the handler failed, RESUME runs
    /// the handler and not the node. Interrupts are not failures, nor is what the library refuses (a write that no
    /// channel takes) or what a saver throws.
    ///
    /// `ends`: where its Commands may lead, as NodeOptions::ends.
    template <class F>
    StateGraph& onError(std::string node, F&& handler, const NodeNames& ends = {}) {
        builder_.onError(std::move(node), detail::makeHandler<S>(std::forward<F>(handler)), ends);
        return *this;
    }

    /// `to` runs after `from`.
    StateGraph& addEdge(std::string from, std::string to) {
        builder_.addEdge(std::move(from), std::move(to));
        return *this;
    }
    /// Each of `to` runs after `from`.
    StateGraph& addEdge(const std::string& from, std::initializer_list<NodeName> to) {
        for (const NodeName& each : to) addEdge(from, each.text());
        return *this;
    }
    /// A join: `to` runs when each of `from` has run since `to` last ran through this join.
    StateGraph& addEdge(std::initializer_list<NodeName> from, std::string to) {
        return addEdge(NodeNames(from).names(), std::move(to));
    }
    StateGraph& addEdge(std::vector<std::string> from, std::string to) {
        builder_.addJoin(std::move(from), std::move(to));
        return *this;
    }

    /// After `from`, `router(const S&)` (or with a Runtime&) says where to go: a node's name, a Send, several of
    /// either, or nothing. It sees the state with `from`'s own writes. Without `ends` it may go to any node.
    template <class F>
    StateGraph& addConditionalEdges(std::string from, F&& router, PathMap ends = {}) {
        builder_.addBranch(std::move(from), detail::makeRouter<S>(std::forward<F>(router)), std::move(ends));
        return *this;
    }

    /// Adds nodes and the edges between each and the next: addSequence("a", f, "b", g, …). A callable may be followed
    /// by the node's options: addSequence("a", f, sg::NodeOptions{.defer = true}, "b", g).
    template <class F, class... Rest>
    StateGraph& addSequence(std::string name, F&& action, Rest&&... rest) {
        return addStep(std::move(name), std::forward<F>(action), std::forward<Rest>(rest)...);
    }

    /// Adds an edge from START to a node.
    StateGraph& setEntryPoint(std::string node) { return addEdge(START, std::move(node)); }
    /// Adds an edge from a node to END.
    StateGraph& setFinishPoint(std::string node) { return addEdge(std::move(node), END); }
    /// Adds conditional edges from START.
    template <class F>
    StateGraph& setConditionalEntryPoint(F&& router, PathMap ends = {}) {
        return addConditionalEdges(START, std::forward<F>(router), std::move(ends));
    }

    /// Returns the graph in a form that can be run. Throws InvalidGraphError with every fault.
    CompiledGraph<S, Input, Output> compile(const CompileOptions& options = CompileOptions::defaults()) const {
        return CompiledGraph<S, Input, Output>(builder_.compile(options));
    }

    /// Never called: they explain that a graph is compiled before it runs.
    template <class T = S>
    Result<Output> invoke(const Update<Input>&, const RunConfig& = RunConfig::defaults()) const {
        static_assert(detail::never<T>,
                      "stategraph: a graph is compiled before it runs: auto app = graph.compile(); app.invoke(input)");
        throw;
    }
    template <class T = S>
    Stream<Output, S> stream(const Update<Input>&, const RunConfig& = RunConfig::defaults(),
                             const StreamOptions& = {}) const {
        static_assert(detail::never<T>,
                      "stategraph: a graph is compiled before it runs: auto app = graph.compile(); app.stream(input)");
        throw;
    }

    /// Draws the graph as it is now, also one that does not compile yet.
    std::string toMermaid() const { return builder_.toMermaid(); }
    /// Draws the graph for Graphviz.
    std::string toDot() const { return builder_.toDot(); }

private:
    template <class F>
    StateGraph& addStep(std::string name, F&& action, const NodeOptions& options = NodeOptions::defaults()) {
        return addNode(std::move(name), std::forward<F>(action), options);
    }
    template <class F, class... Rest>
    StateGraph& addStep(std::string name, F&& action, const NodeOptions& options, std::string next, Rest&&... rest) {
        static_assert(sizeof...(Rest) > 0,
                      "stategraph: addSequence takes a name and a callable for each step, in turn");
        addNode(name, std::forward<F>(action), options).addEdge(std::move(name), next);
        if constexpr (sizeof...(Rest) > 0) addStep(std::move(next), std::forward<Rest>(rest)...);
        return *this;
    }
    template <class F, class... Rest>
        requires(sizeof...(Rest) > 0)
    StateGraph& addStep(std::string name, F&& action, std::string next, Rest&&... rest) {
        return addStep(std::move(name), std::forward<F>(action), NodeOptions::defaults(), std::move(next),
                       std::forward<Rest>(rest)...);
    }
    template <class Inner>
    static detail::SubgraphSpec subgraphOf(std::shared_ptr<const detail::Core> core) {
        detail::SubgraphSpec spec;
        spec.core = std::move(core);
        detail::StateDescription<Inner>::describePayload(spec);
        return spec;
    }
    friend struct detail::Verdicts;
    detail::GraphBuilder builder_;
};

}  // namespace stategraph
