#pragma once
#include <string>

#include <stategraph/model/openai.hpp>

namespace stategraph::model::http {

/// Returns the body of a request for chat completions, as JSON. Texts that are not UTF-8 are mended. Errors: ModelError
/// for what this format cannot express: a result without its call, a kind of file, or a schema that is no JSON.
std::string openAiBody(const OpenAiOptions& options, const Request& request);

}  // namespace stategraph::model::http
