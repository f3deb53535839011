#pragma once
#include <boost/json.hpp>

#include <stategraph/workflow/definition.hpp>

namespace stategraph::workflow::from_json {

/// Reads a predicate. Errors: InvalidArgumentError.
Condition predicateOf(const boost::json::value& json);

}  // namespace stategraph::workflow::from_json
