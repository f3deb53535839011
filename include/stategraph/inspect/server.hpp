#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/compatibility.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/serve/endpoint.hpp>
#include <stategraph/stream_hub.hpp>

// Threads in a browser: a page for a saver, and its HTTP interface (docs/inspector.md).
namespace stategraph::inspect {

/// The options of the inspector.
struct ServerOptions {
    /// The port on 127.0.0.1; the server listens on no other address. 0: a free port (Server::port).
    std::uint16_t port = 0;
    /// Whether answers and forks may be stored, and with graphs (Server::add) threads edited and run. Off: nothing is
    /// written.
    bool write = false;
    /// Which values are hidden: names of channels and of members inside values, '*' for any characters, without regard
    /// to case: "*token*", "password". A name with a dot is a path that begins with the channel: "card.number". Such a
    /// value is shown as "•••(37 B)".
    std::vector<std::string> redact = {};
    /// The key of the page's address. Every person who has it can see everything. Empty: what the environment has as
    /// STATEGRAPH_INSPECTOR_KEY, or else a random key.
    std::string key = {};
    /// The name of the store on the page.
    std::string store = {};
    /// SIGTERM and SIGINT stop the server.
    bool handle_signals = false;
};

/// A graph whose threads the page may edit and run; `Server::add` makes them. Called from the server's threads.
class ServedGraph {
public:
    virtual ~ServedGraph() = default;
    /// Edits a thread's state. Errors: as CompiledGraph::updateState, and WrongTypeError.
    virtual Config edit(const Config& config, const Value& values, const std::optional<std::string>& as_node) = 0;
    /// Makes a run that has not begun; null as input: RESUME. Errors: WrongTypeError for an input of another shape.
    virtual serve::Begin begin(const Value& input) = 0;
    /// Makes a run with answers to open questions.
    virtual serve::Begin begin(std::vector<Answer> answers) = 0;
    /// The names of all nodes, for runs that stop before the next one.
    virtual std::vector<std::string> nodes() const = 0;
    /// Cancels the thread for good.
    virtual void cancel(const ThreadId& thread) = 0;
    /// The hub of the graph's runs in this process, from which the page takes the text of messages while a model writes
    /// it; null, which is the default: the page shows no such text.
    virtual std::shared_ptr<StreamHub> hub() { return nullptr; }
    /// The threads of a store that the graph cannot resume (checkCompatibility), for `stategraph check --app`. By
    /// default it throws InvalidArgumentError, because the graph is not known.
    virtual std::vector<IncompatibleThread> check(BaseCheckpointSaver& saver, const CompatibilityOptions& options);
};

/// The inspector: serves the page and its interface on the loopback. A browser needs the key, which follows the '#' of
/// the address, so that it is in no server's log. Every method is safe from any thread.
///
///   sg::inspect::Server inspector(saver, {.write = true});
///   inspector.add("order", app);
///   std::cout << inspector.url() << '\n';
class Server {
public:
    /// The server listens when this returns. Errors: InvalidArgumentError for a null saver, or for an invalid key or
    /// pattern; std::system_error if the port is not available.
    explicit Server(std::shared_ptr<BaseCheckpointSaver> saver, ServerOptions options = {});
    /// Calls stop(), and waits for runs that the page began.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Lets the page edit, run and replay threads of this graph, if `ServerOptions::write` is on. The graph must have
    /// the same saver. Errors: InvalidArgumentError for a name that is taken or empty.
    template <class S, class Input, class Output>
    void add(const std::string& name, const CompiledGraph<S, Input, Output>& graph);
    /// Does the same for a program whose runs report to a hub of its own (RunConfig::hub), such as one that serves
    /// them: the page also shows what the tasks of these runs emit (Runtime::emitMessage, Runtime::write) while they
    /// run. Without a hub it shows this of runs that the page began. The hub must be the graph's, and outlive the
    /// server.
    template <class S, class Input, class Output>
    void add(const std::string& name, const CompiledGraph<S, Input, Output>& graph, StreamHub& hub);
    void add(const std::string& name, std::shared_ptr<ServedGraph> graph);

    /// The address of the page: "http://127.0.0.1:41873/#k=…"
    std::string url() const;
    std::uint16_t port() const noexcept;
    const std::string& key() const noexcept;
    /// Blocks until the server is stopped.
    void wait();
    void stop() noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

namespace detail {

std::vector<std::string> nodesOf(const stategraph::detail::Core& core);

template <class S, class Input, class Output>
class GraphOnPage final : public ServedGraph {
public:
    explicit GraphOnPage(const CompiledGraph<S, Input, Output>& graph)
        : GraphOnPage(graph, std::make_shared<StreamHub>(graph)) {}
    GraphOnPage(CompiledGraph<S, Input, Output> graph, std::shared_ptr<StreamHub> hub)
        : graph_(std::move(graph)), hub_(std::move(hub)) {}

    Config edit(const Config& config, const Value& values, const std::optional<std::string>& as_node) override {
        UpdateOptions options;
        options.as_node = as_node;
        options.durability = Durability::sync;
        return graph_.updateState(config, serve::detail::updateFrom<Update<S>>(values), options);
    }
    serve::Begin begin(const Value& input) override {
        if (input.isNull()) return begun(RESUME);
        return begun(serve::detail::updateFrom<Update<Input>>(input));
    }
    serve::Begin begin(std::vector<Answer> answers) override { return begun(resume(std::move(answers))); }
    std::vector<std::string> nodes() const override { return nodesOf(*graph_.core()); }
    void cancel(const ThreadId& thread) override { graph_.cancelThread(thread); }
    std::shared_ptr<StreamHub> hub() override { return hub_; }
    std::vector<IncompatibleThread> check(BaseCheckpointSaver& saver, const CompatibilityOptions& options) override {
        return checkCompatibility(saver, graph_, options);
    }

private:
    template <class In>
    serve::Begin begun(In input) const {
        return [graph = graph_, hub = hub_, input = std::move(input)](RunConfig config) {
            return run<In>(graph, hub, input, std::move(config));
        };
    }
    // A coroutine keeps arguments that are passed by value as long as it runs.
    template <class In>
    static Task<> run(CompiledGraph<S, Input, Output> graph, std::shared_ptr<StreamHub> hub, In input,
                      RunConfig config) {
        config.hub = hub.get();
        Task<Result<Output>> ended = graph.asyncInvoke(std::move(input), config);
        co_await std::move(ended);
    }

    CompiledGraph<S, Input, Output> graph_;
    std::shared_ptr<StreamHub> hub_;
};

}  // namespace detail

template <class S, class Input, class Output>
void Server::add(const std::string& name, const CompiledGraph<S, Input, Output>& graph) {
    add(name, std::make_shared<detail::GraphOnPage<S, Input, Output>>(graph));
}

template <class S, class Input, class Output>
void Server::add(const std::string& name, const CompiledGraph<S, Input, Output>& graph, StreamHub& hub) {
    // The hub belongs to the program.
    const std::shared_ptr<StreamHub> shared(std::shared_ptr<void>(), &hub);
    add(name, std::make_shared<detail::GraphOnPage<S, Input, Output>>(graph, shared));
}

}  // namespace stategraph::inspect
