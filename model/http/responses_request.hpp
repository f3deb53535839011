#pragma once
#include <string>

#include <stategraph/model/responses.hpp>

#include "model/http/responses_items.hpp"

namespace stategraph::model::http {

/// What the error says where a seed or stop sequences are set.
inline constexpr const char* has_no_seed =
    "the Responses API has no seed and no stop sequences; leave Settings::seed and Settings::stop_sequences empty";

/// Returns the body of a request to the Responses API, as JSON. Texts that are not UTF-8 are mended. `origin` is the
/// server and the model: thoughts of other origins are left out. Errors: ModelError for what this format cannot
/// express: a seed, stop sequences, a result without its call, or a schema that is no JSON.
std::string responsesBody(const ResponsesOptions& options, const Request& request, const ItemOrigin& origin);

}  // namespace stategraph::model::http
