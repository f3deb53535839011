#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/agent/tool.hpp>
#include <stategraph/mcp/transport.hpp>
#include <stategraph/task.hpp>
#include <stategraph/value.hpp>

// A client of the Model Context Protocol: tools of other programs, for agents.
namespace stategraph::mcp {

/// Why a call failed.
enum class Failure : std::uint8_t {
    connection,  // the server could not be started or reached, has ended, or broke the protocol
    timeout,     // it did not answer in time
    refused,     // it answered with an error: McpError::code
    tool,        // the tool reported an error (only from agents' tools; callTool returns CallResult::is_error)
    limit,       // a limit of ClientOptions was exceeded
};

/// A call of a server failed. The text names the server and what was called.
class McpError : public std::runtime_error {
public:
    McpError(Failure failure, const std::string& text, std::int64_t code = 0)
        : std::runtime_error(text), failure_(failure), code_(code) {}
    Failure failure() const noexcept { return failure_; }
    /// The server's JSON-RPC error code; 0 unless it refused the call.
    std::int64_t code() const noexcept { return code_; }

private:
    Failure failure_;
    std::int64_t code_;
};

/// The options of a client. All limits must be positive; `max_restarts` may be 0.
struct ClientOptions {
    /// What error messages call the server.
    std::string name = "server";
    /// The limit for starting the server and agreeing on the protocol's version.
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(30);
    /// The limit for each request, unless the call has one of its own.
    std::chrono::milliseconds timeout = std::chrono::seconds(60);
    /// The largest message that the server may send, in bytes. A longer one ends the connection.
    std::size_t max_message_bytes = std::size_t{16} << 20U;
    /// How many bytes may wait to be read by the server. A call beyond that fails.
    std::size_t max_unsent_bytes = std::size_t{64} << 20U;
    /// How many requests may be under way at once. A further call fails.
    std::size_t max_waiting = 1024;
    /// How many tools a list may have.
    std::size_t max_tools = 1000;
    /// How many pages a list of tools may have.
    std::size_t max_pages = 100;
    /// How often in a row a server that has ended is started again by the next call. An answer to a request sets the
    /// count back.
    std::size_t max_restarts = 3;
};

/// A tool as the server describes it. The hints are claims of the server.
struct ToolInfo {
    std::string name;
    std::string title;
    std::string description;
    /// JSON Schemas as text. The second is empty if the tool has none.
    std::string input_schema;
    std::string output_schema;
    std::optional<bool> read_only;
    std::optional<bool> destructive;
    std::optional<bool> idempotent;
};

/// A part of a result.
struct Content {
    /// The protocol's word: "text", "image", "audio", "resource" or "resource_link".
    std::string type;
    /// The text of a text, or of a resource that is text; the name of a link.
    std::string text = {};
    std::string media_type = {};
    /// The bytes of an image, a sound or a resource, in base64.
    std::string data = {};
    /// The address of a resource or link.
    std::string uri = {};
};

/// What a tool returned.
struct CallResult {
    std::vector<Content> content;
    /// The structured result; null if there is none.
    Value structured;
    bool is_error = false;

    /// The content as text: texts as they are, one part a line, and for other parts a line that names them.
    std::string text() const;
    /// The output of an agent's tool: the structured result, or else the text. Its model receives pictures, sounds and
    /// bytes of resources too.
    Value output() const;
};

/// The progress of a call, as the server reports it.
struct Progress {
    double progress = 0;
    std::optional<double> total = {};
    /// At most 4,096 bytes; a longer message is left out.
    std::string message = {};
};

/// The options of one call.
struct CallOptions {
    /// How long the call may take; none: ClientOptions::timeout. The server is then sent `notifications/cancelled`.
    std::optional<std::chrono::milliseconds> timeout = {};
    /// A stop request ends the call with CancelledError, and the server is notified likewise.
    std::stop_token stop = {};
    /// Called where the call is awaited, one call at a time. Of reports that come faster, the newest 64 are kept.
    std::function<void(const Progress&)> on_progress = {};
};

/// Which tools an agent gets, and how.
struct ToolsOptions {
    /// Put in front of each name.
    std::string prefix = {};
    /// The server's names of the tools that are wanted; empty: all. A name that the server lacks is an error.
    std::vector<std::string> only = {};
    /// Whether calls need approval, for tools without a hint.
    agent::ApprovalRule approval = {};
    /// Whether tools that are called read-only by the server need no approval. If off, `approval` decides about them.
    /// Tools that are called destructive always need approval.
    bool trust_read_only = true;
    /// How long each call may take; none: ClientOptions::timeout. The end of the time is a result for the model.
    std::optional<std::chrono::milliseconds> timeout = {};
    /// What to do about a call whose end is unknown because the process died.
    OnDoubt on_doubt = OnDoubt::repeat;
    /// Whether arguments are checked by the server's JSON Schemas before a person is asked and before they are sent. In
    /// a build without stategraph::schema they are sent unchecked.
    bool check_arguments = true;
    /// As ToolOptions::result_max.
    std::size_t result_max = 64U << 10U;
    /// As ToolOptions::files_max, for pictures, sounds and the bytes of resources.
    std::size_t files_max = 8U << 20U;
};

/// What the server said about itself when it was connected to.
struct ServerInfo {
    std::string name;
    std::string version;
    std::string protocol_version;
    std::string instructions;
};

/// A connection to an MCP server. The first call starts the server, and a call after the server has ended starts it
/// again (ClientOptions::max_restarts). Safe from any thread. Copies share the connection, and tools keep it: it ends
/// with the last of them, or with `close`, which may take twice ProcessOptions::end_wait.
///
/// Errors of all calls: McpError; CancelledError if they are stopped. An awaited call resumes where it is awaited and
/// holds no thread meanwhile.
class Client {
public:
    /// Starts nothing. Errors: InvalidArgumentError for limits that are not positive.
    explicit Client(Transport transport, ClientOptions options = {});

    /// The server's tools, all pages of them. Errors: also McpError (limit) for more than max_tools or max_pages.
    Task<std::vector<ToolInfo>> asyncListTools(CallOptions options = {}) const;
    /// The same, by blocking; not for coroutines.
    std::vector<ToolInfo> listTools(CallOptions options = {}) const;

    /// Calls a tool. `arguments` is a map, or null for none. A result with is_error is returned, not thrown.
    Task<CallResult> asyncCallTool(std::string name, Value arguments, CallOptions options = {}) const;
    CallResult callTool(std::string name, Value arguments, CallOptions options = {}) const;

    /// The server's tools for an agent. Their calls are awaited; an error is a result for the model; progress goes to
    /// ToolContext::write as {"progress", "total", "message"}. Characters that providers accept in no name become '_'.
    /// A tool whose schema cannot be used refuses its calls, and says why. Blocks for the list. Errors: also
    /// InvalidArgumentError if two names become equal or too long, and if `only` names an unknown tool.
    std::vector<agent::Tool> tools(ToolsOptions options = {}) const;

    /// How often the server said that its list of tools has changed. Ask for the tools again then.
    std::uint64_t listChanges() const noexcept;
    /// How often the server was started, or a session with it begun.
    std::uint64_t starts() const noexcept;
    /// None before the first answer of the server.
    std::optional<ServerInfo> serverInfo() const;
    /// Ends the connection and the process. Waiting calls fail, and so do later ones.
    void close() const;

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace stategraph::mcp
