#pragma once
#include <string>
#include <vector>

#include "tests/conformance/scenario.hpp"

namespace conformance {

/// What differs between what was recorded of a scenario and an answer; empty if nothing does.
std::vector<std::string> differences(const json::object& expected, const json::object& answer);

}  // namespace conformance
