#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <stategraph/agent/agent.hpp>
#include <stategraph/agent/tool.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/mcp/tool.hpp>

// A server of the Model Context Protocol: tools, graphs and agents for the programs of others.
namespace stategraph::mcp {

namespace detail {
class Offer;
}

/// The options of a server.
struct ServerOptions {
    /// Its name, as clients show it.
    std::string name = "stategraph";
    /// Its version, as clients show it.
    std::string version = "1";
    /// What a model should know of the server as a whole; empty: nothing.
    std::string instructions = {};
    /// How many calls of one client may be under way; further calls are refused.
    std::size_t calls_max = 64;
    /// The largest result of a call, in bytes of its message; a larger one becomes an error.
    std::size_t result_bytes_max = 4U << 20U;
};

/// The tools of a server. Each call is a run with a thread.
///
///     mcp::Server server({.name = "research"});
///     server.add(agent::tool<City>("weather", …));
///     server.add("research", compiled_graph, {.description = "Researches a topic"});
///     mcp::serveStdio(server);
///
/// Copies share the tools. Add them before it is served; the names have 1 to 128 letters, digits, '_', '-' and '.'.
/// Errors of `add`: InvalidArgumentError for another name, a name that is taken, a tool that a client or a provider
/// executes, and a graph whose input has a channel with the name of an argument that a call has in addition.
class Server {
public:
    explicit Server(ServerOptions options = {});

    /// A tool. Its call is a node of a graph of its own, with the tool's retry and timeout; the tool may ask questions
    /// and report progress. A call that needs approval asks for it. Results are not cut at ToolOptions::result_max.
    void add(agent::Tool tool);
    /// A graph; include stategraph/json.hpp for a graph of JsonState. Its arguments are the channels of its input. With
    /// a saver, a call may also have `thread_id`, to continue that thread, and `resume` or `answers`, to answer its
    /// questions; the result names the thread.
    template <class S, class Input, class Output>
    void add(std::string name, const CompiledGraph<S, Input, Output>& graph, ServedOptions options = {}) {
        add(detail::graphTool(
            std::move(name), graph, std::move(options),
            [](const Value& arguments) { return serve::detail::updateFrom<Update<Input>>(arguments); },
            [](const Output& values) { return ServedResult{.structured = detail::channelsOf(values)}; }));
    }
    /// An agent. Its argument is `message`, what the user says; the result is the answer's text, and its value if the
    /// agent has an output type. Calls that need approval ask for it.
    void add(std::string name, const agent::Agent& agent, ServedOptions options = {});

    /// The implementation, for the library itself.
    const std::shared_ptr<detail::Offer>& offer() const noexcept { return offer_; }

private:
    void add(std::shared_ptr<const detail::ServedTool> tool);

    std::shared_ptr<detail::Offer> offer_;
};

/// The options of a server on standard input and output.
struct StdioOptions {
    /// The descriptor from which messages are read.
    int in = 0;
    /// The descriptor to which messages are written. If it is standard output, what else the program writes there goes
    /// to standard error meanwhile.
    int out = 1;
    /// The longest message, in bytes. A longer one is refused and skipped.
    std::size_t message_bytes_max = 4U << 20U;
    /// How many bytes may wait for a client that does not read. Beyond that no more messages are read.
    std::size_t unsent_bytes_max = 16U << 20U;
    /// The executor of runs; null: the common one.
    std::shared_ptr<Executor> executor = {};
};
/// Serves one client, and returns when it has closed its end: then all calls are stopped, and the threads of graphs can
/// be resumed. Blocks. Errors: std::system_error if a descriptor cannot be used.
void serveStdio(const Server& server, const StdioOptions& options = {});

}  // namespace stategraph::mcp
