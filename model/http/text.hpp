#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// Prepares texts for a provider, and for errors.
namespace stategraph::model::http {

/// Returns the text with U+FFFD in place of invalid UTF-8. Cost: a pass, and a copy.
std::string validUtf8(std::string_view text);

/// Decodes base64, with or without padding at its end; none if the text is not base64.
std::optional<std::string> fromBase64(std::string_view text);

/// Returns what a provider said, for an error: at most `limit` bytes of UTF-8 in one line, without the secret and
/// without what the provider shows of it ("sk-pr***1234").
inline constexpr std::size_t quote_limit = 2048;
std::string quoted(std::string_view text, std::string_view secret, std::size_t limit = quote_limit);

}  // namespace stategraph::model::http
