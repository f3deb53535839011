#pragma once
#include "tests/workflow_conformance/json.hpp"

namespace workflow_conformance {

/// The value as its schema leaves it: without unknown members, with defaults. Errors: std::invalid_argument("validation
/// failed").
json::value validate(const json::value& schema, const json::value& value);

/// None for a schema that is null. The result refers to the schema, which must outlive it.
flow::Check checkOf(const json::value& schema);
/// The same, but null passes, as for a step that suspends without a question.
flow::Check checkOfQuestion(const json::value& schema);

}  // namespace workflow_conformance
