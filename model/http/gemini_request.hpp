#pragma once
#include <string>
#include <string_view>

#include <stategraph/model/gemini.hpp>

namespace stategraph::model::http {

/// Returns the body of a request to generate content, as JSON. Texts that are not UTF-8 are mended. Errors: ModelError
/// for what this format cannot express: a result without its call, or a schema that is no JSON. `host` is the server's:
/// what it attached to its answers is sent back.
std::string geminiBody(const GeminiOptions& options, const Request& request, std::string_view host = {});

}  // namespace stategraph::model::http
