#pragma once
#include "tests/workflow_conformance/json.hpp"

namespace workflow_conformance {

/// The value as its schema leaves it: unknown members stripped, defaults filled in.
/// Errors: std::invalid_argument("validation failed").
json::value validate(const json::value& schema, const json::value& value);

/// None for a schema that is null. It refers to the schema: keep that.
flow::Check checkOf(const json::value& schema);
/// The same, but null passes: a step that suspends without asking anything.
flow::Check checkOfQuestion(const json::value& schema);

}  // namespace workflow_conformance
