#pragma once
#include "tests/workflow_conformance/session.hpp"

namespace workflow_conformance {

/// Does what one operation says, and returns what came of it.
json::object perform(const json::object& operation, Session& session);

}  // namespace workflow_conformance
