#pragma once
#include <chrono>
#include <cstddef>
#include <string>

#include <stategraph/mcp/server.hpp>
#include <stategraph/serve/server.hpp>

// An MCP server over Streamable HTTP.
namespace stategraph::mcp {

/// The options of an MCP server over HTTP. What one client may ask for, and what all may, are limits of the HTTP
/// server too (serve::ServerOptions: body_bytes_max, runs_max, per_client).
struct ServeOptions {
    /// How many sessions there may be; at the limit the one that was idle for the longest time ends, and if none is
    /// idle, another is refused with 503.
    std::size_t sessions_max = 1000;
    /// How many of them one user may have, or one address where nobody is named; likewise.
    std::size_t sessions_per_client = 100;
    /// After which time without a request or a call a session may be forgotten. Its client gets 404 and begins another.
    std::chrono::milliseconds session_idle = std::chrono::minutes(30);
    /// How many bytes of messages are kept for a client that does not read; further reports of progress are dropped.
    std::size_t event_bytes_max = 256U << 10U;
    /// How many bytes of the messages of ended calls a session keeps, for a client that reconnects.
    std::size_t kept_bytes_max = 1U << 20U;
};

/// Answers requests for /NAME of an HTTP server with the tools: protocol versions 2026-07-28, and with sessions
/// 2025-11-25, 2025-06-18 and 2025-03-26. Runs are counted, drained and stopped with the others of the server, and
/// threads and sessions belong to the users that its `authorize` names. Errors: as serve::Server::handle.
void serve(serve::Server& http, const std::string& name, const Server& server, ServeOptions options = {});

}  // namespace stategraph::mcp
