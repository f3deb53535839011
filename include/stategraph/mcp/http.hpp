#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/mcp/transport.hpp>

// MCP servers behind HTTP. This is a separate library, stategraph::mcp_http, because it needs libcurl.
namespace stategraph::mcp {

/// A server that speaks Streamable HTTP, over http or https.
struct HttpOptions {
    /// Its address, such as "https://example.com/mcp". Required.
    std::string url = {};
    /// Header fields of each request, such as {"Authorization", "Bearer …"}. Error messages do not show their
    /// values, if they have six bytes or more.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// A PEM file of the certificates to trust, instead of the system's.
    std::string ca_file = {};
    /// How long the request that ends the session may take when the client is closed.
    std::chrono::milliseconds end_wait = std::chrono::seconds(2);
};

/// A server over HTTP. Each client has a session of its own, and its connections are kept for later requests. Requests
/// that the server makes outside of its answers are not read. Errors: InvalidArgumentError for an address, a header or
/// a file of certificates that cannot be used, and for a time that is not from 1 ms to one hour.
Transport http(HttpOptions options);

}  // namespace stategraph::mcp
