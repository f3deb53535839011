#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/config.hpp>
#include <stategraph/json_schema.hpp>
#include <stategraph/run_outcome.hpp>
#include <stategraph/serve/endpoint.hpp>
#include <stategraph/serve/graph_work.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/stream.hpp>
#include <stategraph/value.hpp>

// A compiled graph without the types of its state, for clients of LangGraph's server.
namespace stategraph::langgraph {

/// What a client has set for a run. Nodes see it as `runtime.context<langgraph::RunSettings>()`.
struct RunSettings {
    std::string run_id = {};
    std::string thread_id = {};
    std::string assistant_id = {};
    std::string graph_id = {};
    /// `config.configurable` of the assistant, the thread and the run, merged, as a map; header fields `x-…` are in it.
    Value configurable = {};
    /// The context of the assistant and of the run, merged, as a map.
    Value context = {};
};

/// Sets what a graph wants of a client's settings, such as a context of its own. Its errors of the library refuse the
/// request with 422. Called on the server's threads, several at once.
using PrepareRun = std::function<void(const RunSettings& settings, RunConfig& config)>;

/// An error as clients receive it.
struct ReportedError {
    /// The name of its kind, such as "ValueError".
    std::string name = {};
    std::string message = {};
};
/// Returns what clients receive of an exception that a node threw; none: the server decides
/// (ServerOptions::show_errors). It must not throw. Called from several threads.
using ReportError = std::function<std::optional<ReportedError>(const std::exception& error)>;

/// The options of a served graph.
struct GraphOptions {
    /// Null: nodes see RunSettings alone.
    PrepareRun prepare = {};
    /// Reports exceptions of the graph's nodes to clients. Null: the server decides.
    ReportError report_error = {};
    /// What runs begin with: limits, metadata, context. A request sets thread, breakpoints and durability, and may set
    /// the recursion limit.
    RunConfig config = {};
    /// The JSON Schema of a JsonState, an object with `properties`: what clients see of the types of its channels,
    /// which otherwise have those that their reducers say. Values are not checked against it. Empty for graphs of C++
    /// types, whose schemas are made of them.
    std::string state_schema = {};
};

/// Reads `context` of a request as a T, which nodes then see as `runtime.context<T>()`; a value that does not fit is
/// refused, with its path. T is a struct with a table, or JSON.
template <class T>
PrepareRun contextAs() {
    return [](const RunSettings& settings, RunConfig& config) {
        config.context = config.context.with(settings.context.asStrict<T>());
    };
}

namespace detail {

using RunStart = serve::detail::GraphStart;
/// Runs once; the arguments are kept until the end.
using Work = serve::detail::GraphWork<RunOutcome>;

/// One edit of a state from outside.
struct StateEdit {
    /// {channel: value}; none: nothing is written.
    std::optional<Value> values = {};
    std::optional<std::string> as_node = {};
    Targets go_to = {};
};

/// A graph without its types. Its methods are called from several threads at once.
class AnyGraph {
public:
    /// Errors: InvalidArgumentError for a state_schema that is no object with `properties`.
    explicit AnyGraph(GraphOptions options);
    virtual ~AnyGraph() = default;

    const GraphOptions& options() const noexcept { return options_; }
    /// The same graph for the server's own table of runs.
    virtual const std::shared_ptr<serve::Endpoint>& endpoint() const noexcept = 0;
    virtual const std::shared_ptr<const stategraph::detail::Core>& core() const = 0;
    /// Checks what a run is to begin with. Errors: WrongTypeError, InvalidArgumentError, InvalidUpdateError.
    virtual Work prepare(RunStart start) const = 0;
    /// As CompiledGraph::getState, getStateHistory and bulkUpdateState. A history calls `take` with each checkpoint,
    /// until it returns false. An edit of the log of a graph inside needs that graph to have a state of the same type
    /// (InvalidUpdateError).
    virtual SnapshotData state(const Config& config, bool subgraphs) const = 0;
    virtual void history(const Config& config, const HistoryOptions& options,
                         const std::function<bool(const SnapshotData& at)>& take) const = 0;
    virtual Config edit(const Config& config, const std::vector<std::vector<StateEdit>>& supersteps) const = 0;
    /// The JSON Schemas of the state and of the input; `{}`: its channels are named at run time.
    virtual std::string stateSchema() const = 0;
    virtual std::string inputSchema() const = 0;

private:
    GraphOptions options_;
};

/// The graph of any compiled graph.
template <class S, class Input = S, class Output = S>
class TypedGraph final : public AnyGraph {
public:
    TypedGraph(CompiledGraph<S, Input, Output> graph, GraphOptions options)
        : AnyGraph(std::move(options)), graph_(std::move(graph)), endpoint_(serve::endpoint(graph_)) {}

    const std::shared_ptr<serve::Endpoint>& endpoint() const noexcept override { return endpoint_; }
    const std::shared_ptr<const stategraph::detail::Core>& core() const override { return graph_.core(); }
    Work prepare(RunStart start) const override {
        return serve::detail::graphWork<RunOutcome>(
            graph_, std::move(start),
            [](const Value& input) { return serve::detail::updateFrom<Update<Input>>(input); },
            [](const Value& update) { return serve::detail::updateFrom<Update<S>>(update); },
            [](const RunOutcome& outcome) { return outcome; });
    }
    SnapshotData state(const Config& config, bool subgraphs) const override {
        return graph_.getState(config, {.subgraphs = subgraphs});
    }
    void history(const Config& config, const HistoryOptions& options,
                 const std::function<bool(const SnapshotData& at)>& take) const override {
        for (const auto& snapshot : graph_.getStateHistory(config, options)) {
            if (!take(snapshot)) return;
        }
    }
    Config edit(const Config& config, const std::vector<std::vector<StateEdit>>& supersteps) const override {
        std::vector<std::vector<StateUpdate<S>>> updates;
        for (const auto& superstep : supersteps) {
            updates.emplace_back();
            for (const StateEdit& each : superstep) {
                StateUpdate<S> update{.values = {}, .as_node = each.as_node, .go_to = each.go_to};
                if (each.values) update.values = serve::detail::updateFrom<Update<S>>(*each.values);
                updates.back().push_back(std::move(update));
            }
        }
        return graph_.bulkUpdateState(config, updates);
    }
    std::string stateSchema() const override { return schemaOf<Output>(); }
    std::string inputSchema() const override { return serve::detail::schemaOfUpdate(schemaOf<Input>()); }

private:
    template <class T>
    std::string schemaOf() const {
        return options().state_schema.empty() ? serve::detail::stateSchemaOf<T>() : options().state_schema;
    }

    CompiledGraph<S, Input, Output> graph_;
    std::shared_ptr<serve::Endpoint> endpoint_;
};

}  // namespace detail

/// A served graph, which `graph` makes.
using Graph = detail::AnyGraph;

/// Makes a served graph; include stategraph/json.hpp for a graph of JsonState. Errors: those of AnyGraph's constructor.
template <class S, class Input, class Output>
std::shared_ptr<Graph> graph(const CompiledGraph<S, Input, Output>& compiled, GraphOptions options = {}) {
    return std::make_shared<detail::TypedGraph<S, Input, Output>>(compiled, std::move(options));
}

}  // namespace stategraph::langgraph
