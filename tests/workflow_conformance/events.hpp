#pragma once
#include "tests/workflow_conformance/json.hpp"

namespace workflow_conformance {

/// Events as they are compared: members of a block one after another, a foreach's progress by index, nothing from
/// inside a workflow that a foreach repeats.
json::array settled(const json::array& events, const json::object& workflow);

}  // namespace workflow_conformance
