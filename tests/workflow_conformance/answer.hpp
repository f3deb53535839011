#pragma once
#include <string>

#include "tests/workflow_conformance/json.hpp"
#include "tests/workflow_conformance/storage.hpp"

namespace workflow_conformance {

/// Does what a scenario says, and fills each operation's "expect" with what came of it. Never looks at what was
/// recorded.
json::object answer(const json::object& scenario, Storage& storage, const std::string& run_id);

}  // namespace workflow_conformance
