#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/async.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/json_schema.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/serve/protocol.hpp>
#include <stategraph/stream_hub.hpp>
#include <stategraph/value.hpp>

// What a server serves: a compiled graph under a name.
namespace stategraph::serve {

/// What a client does to a thread.
enum class Operation : std::uint8_t {
    start,   // {"input": {channel: value}}; an agent also takes {"text": "…"}
    resume,  // {"answers": [{"id" or "key", "value"}…]}, {"resume": value} for one open question, or {} to continue
    // only for agents: {"call_id", "approved", "reason", "arguments"}, or {"call_id", "output", "is_error"} of a
    // client's tool
    decide,
};

/// The options of an endpoint.
struct EndpointOptions {
    /// The protocols that clients may request; the first is the default. Empty: ownEvents().
    std::vector<Protocol> protocols = {};
    /// Whether the run that a client started stops when the client disconnects. Otherwise the run continues, and the
    /// client can reconnect.
    bool disconnect_cancels = false;
    /// Whether the response ends when the run waits for an answer. Otherwise it stays open, for the run that continues.
    bool close_on_suspend = true;
    /// The configuration of runs: limits, metadata, context. The server sets thread, hub and control.
    RunConfig config = {};
};

/// Starts the run of a request. It is awaited once.
using Begin = std::function<Task<>(RunConfig config)>;

/// A served graph. Its methods are called from the server's threads, several at once.
class Endpoint {
public:
    explicit Endpoint(EndpointOptions options) : options_(std::move(options)) {}
    virtual ~Endpoint() = default;

    const EndpointOptions& options() const noexcept { return options_; }
    /// The hub that the runs of the endpoint report to.
    virtual StreamHub& hub() noexcept = 0;
    /// Returns the thread of the hub that a client's name refers to.
    virtual ThreadId threadOf(const ThreadId& name) const { return name; }
    /// Checks a client's request before anything is done. Errors, which are reported to the client:
    /// InvalidArgumentError, WrongTypeError, InvalidUpdateError.
    virtual Begin prepare(Operation operation, const ThreadId& thread, const Value& body) = 0;
    /// Stops the run that is under way here (`under_way` is its control), or with null ends the thread, so that
    /// nothing of it is due or open.
    virtual void cancel(const ThreadId& thread, RunControl* under_way) = 0;
    /// The state as JSON.
    virtual std::string state(const Config& config) = 0;
    /// The history as a list of JSON, newest first.
    virtual std::string history(const Config& config, const HistoryOptions& options) = 0;
    /// The JSON Schema of the graph's state, and that of the input of `start`; `{}`: anything.
    virtual std::string stateSchema() const { return "{}"; }
    virtual std::string inputSchema() const { return "{}"; }

private:
    EndpointOptions options_;
};

namespace detail {

/// The answers in a client's request. None: the run is to continue without answers. Errors: WrongTypeError,
/// InvalidArgumentError.
std::optional<Command<>> answersIn(const Value& body);
/// The member `input`. Errors: InvalidArgumentError.
Value inputIn(const Value& body);
std::string jsonList(const std::vector<std::string>& items);
/// Returns `{}` for a state whose channels are named at run time.
template <class T>
std::string stateSchemaOf() {
    if constexpr (Storable<T>) {
        return jsonSchema<T>();
    } else {
        return "{}";
    }
}
/// A state's schema without `required`: an update names the channels that it writes.
std::string schemaOfUpdate(const std::string& state);
/// Makes an update from JSON; for a JsonState include stategraph/json.hpp.
template <class U, class V>
U updateFrom(const V& values) {
    if constexpr (requires { U::of(values); }) {
        return U::of(values);
    } else {
        return U::of(toJsonValue(values).as_object());
    }
}

}  // namespace detail

/// The endpoint of any compiled graph.
template <class S, class Input = S, class Output = S>
class GraphEndpoint : public Endpoint {
public:
    GraphEndpoint(CompiledGraph<S, Input, Output> graph, EndpointOptions options)
        : Endpoint(std::move(options)), graph_(std::move(graph)), hub_(graph_) {}

    StreamHub& hub() noexcept override { return hub_; }
    Begin prepare(Operation operation, const ThreadId&, const Value& body) override {
        if (operation == Operation::start) return begin(detail::updateFrom<Update<Input>>(detail::inputIn(body)));
        if (operation != Operation::resume)
            throw InvalidArgumentError("this graph is not an agent: it takes no decisions about calls");
        if (auto answers = detail::answersIn(body)) return begin(std::move(*answers));
        return begin(RESUME);
    }
    void cancel(const ThreadId& thread, RunControl* under_way) override {
        if (under_way != nullptr) {
            under_way->requestStop();
        } else {
            graph_.cancelThread(thread);
        }
    }
    std::string state(const Config& config) override { return toJson(graph_.getState(config)); }
    std::string history(const Config& config, const HistoryOptions& options) override {
        std::vector<std::string> items;
        for (const auto& snapshot : graph_.getStateHistory(config, options)) items.push_back(toJson(snapshot));
        return detail::jsonList(items);
    }
    std::string stateSchema() const override { return detail::stateSchemaOf<Output>(); }
    std::string inputSchema() const override { return detail::schemaOfUpdate(detail::stateSchemaOf<Input>()); }

protected:
    const CompiledGraph<S, Input, Output>& graph() const noexcept { return graph_; }
    template <class In>
    Begin begin(In input) const {
        return [graph = graph_, input = std::move(input)](RunConfig config) {
            return run<In>(graph, input, std::move(config));
        };
    }

private:
    // A coroutine keeps arguments that are passed by value as long as it runs.
    template <class In>
    static Task<> run(CompiledGraph<S, Input, Output> graph, In input, RunConfig config) {
        Task<Result<Output>> ended = graph.asyncInvoke(std::move(input), config);
        co_await std::move(ended);
    }

    CompiledGraph<S, Input, Output> graph_;
    StreamHub hub_;
};

/// Makes an endpoint for a compiled graph.
template <class S, class Input, class Output>
std::shared_ptr<Endpoint> endpoint(const CompiledGraph<S, Input, Output>& graph, EndpointOptions options = {}) {
    return std::make_shared<GraphEndpoint<S, Input, Output>>(graph, std::move(options));
}

}  // namespace stategraph::serve
