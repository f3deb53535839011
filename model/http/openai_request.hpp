#pragma once
#include <string>
#include <string_view>

#include <stategraph/model/openai.hpp>

namespace stategraph::model::http {

/// Returns the body of a request for chat completions, as JSON. Texts that are not UTF-8 are mended. Errors: ModelError
/// for what this format cannot express: a result without its call, a kind of file, or a schema that is no JSON. `host`
/// is the server's: what it attached to its answers is sent back.
std::string openAiBody(const OpenAiOptions& options, const Request& request, std::string_view host = {});

}  // namespace stategraph::model::http
