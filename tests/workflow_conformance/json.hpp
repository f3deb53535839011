#pragma once
#include <optional>
#include <vector>

#include <stategraph/json.hpp>
#include <stategraph/workflow/definition.hpp>

#include "tests/conformance/scenario.hpp"

namespace workflow_conformance {

namespace json = boost::json;
namespace sg = stategraph;
namespace flow = stategraph::workflow;
using conformance::get;
using conformance::text;

/// Keys in order, whole numbers as integers; then equal values are equal and have the same text.
json::value canonical(const json::value& value);
void order(std::vector<json::value>& items);
/// The number as 64 bits if it fits and has no fraction.
std::optional<std::int64_t> asInteger(const json::value& value);

/// Errors: std::invalid_argument if it is not an object.
flow::Values valuesOf(const json::value& object);
json::object jsonOf(const flow::Values& values);

}  // namespace workflow_conformance
