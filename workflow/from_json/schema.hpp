#pragma once
#include <boost/json.hpp>

#include <stategraph/workflow/definition.hpp>

namespace stategraph::workflow::from_json {

/// Errors: InvalidArgumentError.
Check schemaCheckOf(const boost::json::value& schema);

}  // namespace stategraph::workflow::from_json
