#pragma once
#include <cstddef>

#include <boost/json.hpp>

#include <stategraph/workflow/definition.hpp>

namespace stategraph::workflow::from_json {

/// Reads a predicate, whose operands may be templates that make at most so many bytes. Errors: InvalidArgumentError.
Condition predicateOf(const boost::json::value& json, std::size_t bytes_max);

}  // namespace stategraph::workflow::from_json
