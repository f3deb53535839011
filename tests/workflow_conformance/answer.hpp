#pragma once
#include <string>

#include "tests/workflow_conformance/json.hpp"
#include "tests/workflow_conformance/storage.hpp"

namespace workflow_conformance {

/// Executes a scenario and fills the "expect" of each operation with the result. Never reads what was recorded.
json::object answer(const json::object& scenario, Storage& storage, const std::string& run_id);

}  // namespace workflow_conformance
