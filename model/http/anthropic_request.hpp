#pragma once
#include <string>
#include <string_view>

#include <stategraph/model/anthropic.hpp>

namespace stategraph::model::http {

/// A thought that the provider has hidden is a Reasoning without text, whose signature is this mark followed by the
/// provider's data. Signatures are base64, which has no colon.
inline constexpr std::string_view redacted_mark = "redacted:";

/// The ProviderPart::format of this format's parts.
inline constexpr std::string_view anthropic_format = "anthropic";

/// Returns the body of a request for a message, as JSON. Texts that are not UTF-8 are mended; blank ones, which would
/// be refused, are left out. Errors: ModelError for what this format cannot express: a seed, a result without its call,
/// a kind of file, or a schema that is no JSON.
std::string anthropicBody(const AnthropicOptions& options, const Request& request);

}  // namespace stategraph::model::http
