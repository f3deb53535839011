#pragma once
#include <string>

#include <stategraph/model/responses.hpp>

#include "model/http/responses_items.hpp"

namespace stategraph::model::http {

/// Returns the body of a request to the Responses API, as JSON. Texts that are not UTF-8 are mended. `origin` is the
/// server and the model: thoughts of other origins are left out. Errors: ModelError for what this format cannot
/// express: a seed, stop sequences, a result without its call, or a schema that is no JSON.
std::string responsesBody(const ResponsesOptions& options, const Request& request, const ItemOrigin& origin);

}  // namespace stategraph::model::http
