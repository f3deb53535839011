#pragma once
#include <stategraph/workflow/run.hpp>

#include "tests/workflow_conformance/json.hpp"

// What a scenario may look at, as the JSON it is compared as.
namespace workflow_conformance {

/// Adds status, state and steps of a run; result, error, or what is open and its labels.
void describe(const flow::RunView& run, json::object& expect);
json::array describe(const flow::RunEvent& event);

}  // namespace workflow_conformance
