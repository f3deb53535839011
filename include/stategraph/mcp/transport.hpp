#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// How a client reaches MCP servers.
namespace stategraph::mcp {

namespace detail {
class Connector;
}

/// A server that is a child process and speaks on its standard input and output.
struct ProcessOptions {
    /// The program; a name without a slash is looked up in PATH. Required.
    std::string command = {};
    /// The program's arguments, without its name. No shell reads them.
    std::vector<std::string> arguments = {};
    /// Names of the environment variables that the process inherits. It gets no others of this process.
    std::vector<std::string> inherited = {"HOME",  "LANG", "LC_ALL", "LOGNAME", "PATH",
                                          "SHELL", "TERM", "TMPDIR", "USER"};
    /// Environment variables that are set for the process, such as a key that it needs.
    std::vector<std::pair<std::string, std::string>> environment = {};
    /// The working folder; empty: that of this process.
    std::string folder = {};
    /// Receives what the process writes to its standard error, in pieces of at most 16 kB, on the thread that reads
    /// from the process. It must not throw, and must not use the client. Null: the bytes are dropped.
    std::function<void(std::string_view piece)> on_stderr = {};
    /// How long the process has to end when its standard input is closed, and again after SIGTERM. Then it is killed,
    /// with its process group.
    std::chrono::milliseconds end_wait = std::chrono::seconds(2);
};

/// How a Client reaches a server. Copies are cheap; nothing is started before the client needs it. Immutable.
class Transport {
public:
    explicit Transport(std::shared_ptr<const detail::Connector> connector) noexcept
        : connector_(std::move(connector)) {}
    const std::shared_ptr<const detail::Connector>& connector() const noexcept { return connector_; }

private:
    std::shared_ptr<const detail::Connector> connector_;
};

/// A server that each client starts as a process of its own. Errors: InvalidArgumentError for an empty command, for a
/// NUL byte, for a variable without a name and for a negative end_wait. A program that does not exist is an error of
/// the first call.
Transport process(ProcessOptions options);

}  // namespace stategraph::mcp
