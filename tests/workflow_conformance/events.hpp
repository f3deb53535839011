#pragma once
#include "tests/workflow_conformance/json.hpp"

namespace workflow_conformance {

/// Events in comparable form: the members of a block one after another, the progress of a foreach by index, and nothing
/// from inside a workflow that a foreach repeats.
json::array settled(const json::array& events, const json::object& workflow);

}  // namespace workflow_conformance
