#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/model/message.hpp>
#include <stategraph/run_outcome.hpp>
#include <stategraph/serve/endpoint.hpp>
#include <stategraph/serve/graph_work.hpp>
#include <stategraph/stream.hpp>
#include <stategraph/value.hpp>

// Graphs as tools of an MCP server.
namespace stategraph::mcp {

/// A question of a run in the form in which a client asks a person.
struct ServedQuestion {
    std::string message = {};
    /// The JSON Schema of the answer. A flat object of texts, numbers, booleans and enums is asked for as it is;
    /// another schema is that of one value. Clients show forms, so they refuse other objects.
    std::string schema = R"({"type":"string"})";
    /// With what the run continues if the person declines; none: the call ends with an error, and the question stays
    /// open.
    std::optional<Value> declined = {};
};
/// Returns how a question is asked. Called from several threads.
using AskQuestion = std::function<ServedQuestion(const Interrupt& question)>;

/// The options of a graph that is served as a tool.
struct ServedOptions {
    /// What the tool does, for the model that calls it.
    std::string description = {};
    /// A name for people.
    std::string title = {};
    /// Whether clients may assume that a call changes nothing; not given: nothing is said of it.
    std::optional<bool> read_only = {};
    /// Whether a call may destroy something; likewise.
    std::optional<bool> destructive = {};
    /// Whether a call with the same arguments changes nothing more; likewise.
    std::optional<bool> idempotent = {};
    /// The channels that calls may write. Not given: all that the graph takes as its input.
    std::optional<std::vector<std::string>> input_channels = {};
    /// How questions are asked. Null: a question that is an object with "message" and "schema" is asked as it says;
    /// otherwise its text, or its JSON, is the message, and the answer is a text.
    AskQuestion ask = {};
    /// What runs begin with: limits, metadata, context. A call sets thread and control.
    RunConfig config = {};
};

/// What a call returns.
struct ServedResult {
    /// Empty: the JSON of `structured`.
    std::string text = {};
    /// An object; null: the result is the text alone.
    Value structured = {};
    /// Pictures, sounds and other files that follow the text.
    std::vector<model::File> files = {};
};

namespace detail {

struct ToolEnd {
    RunOutcome outcome = {};
    /// Set if the run is done.
    ServedResult result = {};
};
/// Runs once.
using ToolWork = serve::detail::GraphWork<ToolEnd>;

/// A graph without its types. Safe from any thread.
class ServedTool {
public:
    ServedTool(std::string name, ServedOptions options) : name_(std::move(name)), options_(std::move(options)) {}
    virtual ~ServedTool() = default;

    const std::string& name() const noexcept { return name_; }
    const ServedOptions& options() const noexcept { return options_; }
    /// The graph for the table of runs of a server.
    virtual const std::shared_ptr<serve::Endpoint>& endpoint() const noexcept = 0;
    /// Whether callers may name threads, which are stored.
    virtual bool keepsThreads() const noexcept = 0;
    /// Whether the questions of a run can be answered: its thread is stored at least as long as its call.
    virtual bool canContinue() const noexcept = 0;
    /// The open questions of a thread. Errors: those of getState.
    virtual std::vector<Interrupt> questions(const ThreadId& thread) const = 0;
    /// A call has ended: `waits` says whether the client may come back with answers.
    virtual void callEnded(const ThreadId& thread, bool waits) const = 0;
    /// Errors: WrongTypeError, InvalidArgumentError and InvalidUpdateError for what a call may not begin with.
    virtual ToolWork prepare(serve::detail::GraphStart start) const = 0;
    /// The JSON Schemas of the arguments and of the structured result; empty: there is none.
    virtual std::string inputSchema() const = 0;
    virtual std::string outputSchema() const = 0;
    /// Whether the texts of what it throws are for clients, although they are hidden (ServerOptions::show_errors).
    virtual bool isForClient(const std::exception& error) const noexcept;

private:
    std::string name_;
    ServedOptions options_;
};

/// The structured result of a graph.
template <class Output>
Value channelsOf(const Output& values) {
    if constexpr (Encodable<Output>) {
        return Value(values);
    } else {
        return Value(values.toObject());
    }
}
bool hasSaver(const stategraph::detail::Core& core) noexcept;

/// Any compiled graph. `Read` makes an update of the arguments, and `Show` a ServedResult of the output.
template <class S, class Input, class Output, class Read, class Show>
class GraphTool : public ServedTool {
public:
    GraphTool(std::string name, CompiledGraph<S, Input, Output> graph, ServedOptions options, Read read, Show show)
        : ServedTool(std::move(name), std::move(options)),
          graph_(std::move(graph)),
          endpoint_(serve::endpoint(graph_)),
          read_(std::move(read)),
          show_(std::move(show)) {}

    const std::shared_ptr<serve::Endpoint>& endpoint() const noexcept override { return endpoint_; }
    bool keepsThreads() const noexcept override { return hasSaver(*graph_.core()); }
    bool canContinue() const noexcept override { return hasSaver(*graph_.core()); }
    std::vector<Interrupt> questions(const ThreadId& thread) const override {
        return graph_.getState({.thread_id = thread}).interrupts();
    }
    void callEnded(const ThreadId&, bool) const override {}
    ToolWork prepare(serve::detail::GraphStart start) const override {
        const auto endOf = [show = show_](auto result) {
            ToolEnd end{.outcome = result};
            if (result.status == Status::done) end.result = show(result.values);
            return end;
        };
        const auto update = [](const Value& values) { return serve::detail::updateFrom<Update<S>>(values); };
        return serve::detail::graphWork<ToolEnd>(graph_, std::move(start), read_, update, endOf);
    }
    std::string inputSchema() const override {
        return serve::detail::schemaOfUpdate(serve::detail::stateSchemaOf<Input>());
    }
    std::string outputSchema() const override {
        return serve::detail::schemaOfUpdate(serve::detail::stateSchemaOf<Output>());
    }

private:
    CompiledGraph<S, Input, Output> graph_;
    std::shared_ptr<serve::Endpoint> endpoint_;
    Read read_;
    Show show_;
};

template <class S, class Input, class Output, class Read, class Show>
std::shared_ptr<const ServedTool> graphTool(std::string name, const CompiledGraph<S, Input, Output>& graph,
                                            ServedOptions options, Read read, Show show) {
    return std::make_shared<GraphTool<S, Input, Output, Read, Show>>(std::move(name), graph, std::move(options),
                                                                     std::move(read), std::move(show));
}

}  // namespace detail

}  // namespace stategraph::mcp
