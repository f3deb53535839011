#pragma once
#include "tests/workflow_conformance/session.hpp"

namespace workflow_conformance {

/// Performs one operation and returns its result.
json::object perform(const json::object& operation, Session& session);

}  // namespace workflow_conformance
