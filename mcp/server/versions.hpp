#pragma once
#include <algorithm>
#include <array>
#include <string_view>

// The versions of the protocol that the server speaks.
namespace stategraph::mcp::detail {

/// The version without sessions: each request says what its client can do.
inline constexpr std::string_view modern_version = "2026-07-28";
/// The versions that begin with `initialize`, the newest first.
inline constexpr std::array<std::string_view, 4> session_versions{"2025-11-25", "2025-06-18", "2025-03-26",
                                                                  "2024-11-05"};

inline bool isSessionVersion(std::string_view version) noexcept {
    return std::ranges::find(session_versions, version) != session_versions.end();
}

// Members of `_meta` that each request of the modern version has, and of each result.
inline constexpr std::string_view version_key = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view capabilities_key = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view server_key = "io.modelcontextprotocol/serverInfo";

// The codes of errors of JSON-RPC and of the protocol.
inline constexpr int not_json = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int unknown_method = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int beyond_limit = -32000;
inline constexpr int header_mismatch = -32020;
inline constexpr int unsupported_version = -32022;

}  // namespace stategraph::mcp::detail
