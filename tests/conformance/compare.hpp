#pragma once
#include <string>
#include <vector>

#include "tests/conformance/scenario.hpp"

namespace conformance {

/// Returns what differs between a recording of a scenario and an answer, or nothing if they are equal.
std::vector<std::string> differences(const json::object& expected, const json::object& answer);

}  // namespace conformance
