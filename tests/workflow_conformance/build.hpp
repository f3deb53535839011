#pragma once
#include <memory>

#include "tests/workflow_conformance/process.hpp"

namespace workflow_conformance {

/// The workflow of a process's world. Its functions keep the process alive.
flow::Definition build(const std::shared_ptr<Process>& process);

}  // namespace workflow_conformance
