#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace stategraph::langgraph {

/// HMAC-SHA256 (RFC 2104): 32 bytes.
std::string hmacSha256(std::string_view key, std::string_view text);
/// The header field webhook-signature of Standard Webhooks.
std::string webhookSignature(std::string_view key, std::string_view id, std::int64_t timestamp, std::string_view body);

}  // namespace stategraph::langgraph
