#pragma once
#include <stategraph/workflow/run.hpp>

#include "tests/workflow_conformance/json.hpp"

// The observable properties of a run, as the JSON that is compared.
namespace workflow_conformance {

/// Adds the status, state and steps of a run, and its result, its error, or its open questions with their labels.
void describe(const flow::RunView& run, json::object& expect);
json::array describe(const flow::RunEvent& event);

}  // namespace workflow_conformance
