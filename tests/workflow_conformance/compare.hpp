#pragma once
#include <string>
#include <vector>

#include "tests/workflow_conformance/json.hpp"

namespace workflow_conformance {

/// The differences between the recording of a scenario and an answer; empty if there are none.
std::vector<std::string> differences(const json::object& scenario, const json::object& answer);

}  // namespace workflow_conformance
