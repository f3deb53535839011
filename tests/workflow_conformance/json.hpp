#pragma once
#include <vector>

#include <stategraph/json.hpp>
#include <stategraph/workflow/definition.hpp>

#include "tests/conformance/scenario.hpp"

namespace workflow_conformance {

namespace json = boost::json;
namespace sg = stategraph;
namespace flow = stategraph::workflow;
using conformance::asInteger;
using conformance::canonical;
using conformance::get;
using conformance::text;

void order(std::vector<json::value>& items);

/// Errors: std::invalid_argument if it is not an object.
flow::Values valuesOf(const json::value& object);
json::object jsonOf(const flow::Values& values);

}  // namespace workflow_conformance
