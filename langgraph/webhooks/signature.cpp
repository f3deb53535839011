#include "langgraph/webhooks/signature.hpp"

#include <array>
#include <cstddef>

#include "src/commands/thread_line.hpp"
#include "src/value/sha256.hpp"

namespace stategraph::langgraph {

namespace {

constexpr std::size_t block_bytes = 64;

std::string sha256(std::string_view text) {
    const std::array<std::uint8_t, 32> digest = stategraph::detail::sha256(text);
    return {digest.begin(), digest.end()};
}

}  // namespace

std::string hmacSha256(std::string_view key, std::string_view text) {
    std::string padded = key.size() > block_bytes ? sha256(key) : std::string(key);
    padded.resize(block_bytes, '\0');
    std::string inner = padded, outer = padded;
    for (char& c : inner) c = static_cast<char>(c ^ 0x36);
    for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
    return sha256(outer + sha256(inner.append(text)));
}

std::string webhookSignature(std::string_view key, std::string_view id, std::int64_t timestamp, std::string_view body) {
    std::string text(id);
    text.append(".").append(std::to_string(timestamp)).append(".").append(body);
    return "v1," + commands::toBase64(hmacSha256(key, text));
}

}  // namespace stategraph::langgraph
