#pragma once
#include "tests/workflow_conformance/environment.hpp"

namespace workflow_conformance {

/// Errors: std::runtime_error with the message of a `$throw`; std::invalid_argument if it is not an expression.
json::value evaluate(const json::value& expression, const Environment& environment);
/// The value as a condition: true unless it is null, false, 0 or "".
bool isTrue(const json::value& value);

}  // namespace workflow_conformance
