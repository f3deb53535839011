#pragma once
#include <string>
#include <vector>

#include "tests/workflow_conformance/json.hpp"

namespace workflow_conformance {

/// What differs between what was recorded of a scenario and an answer; empty if nothing does.
std::vector<std::string> differences(const json::object& scenario, const json::object& answer);

}  // namespace workflow_conformance
