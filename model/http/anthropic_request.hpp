#pragma once
#include <string>
#include <string_view>

#include <stategraph/model/anthropic.hpp>

namespace stategraph::model::http {

/// A thought that the provider has hidden is a Reasoning without text, whose signature is this and the provider's data.
/// Signatures are base64, which has no colon.
inline constexpr std::string_view redacted_mark = "redacted:";

/// ProviderPart::format of this format's parts.
inline constexpr std::string_view anthropic_format = "anthropic";

/// The body of a request for a message, as JSON. Texts that are not UTF-8 are mended; blank ones, which are refused,
/// are left out. Errors: ModelError for what cannot be said in this format: a seed, a result without its call, a kind
/// of file, a schema that is no JSON.
std::string anthropicBody(const AnthropicOptions& options, const Request& request);

}  // namespace stategraph::model::http
