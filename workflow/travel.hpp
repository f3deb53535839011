#pragma once
#include <optional>
#include <span>
#include <string>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

struct Travel {
    std::optional<Value> input;
    std::optional<Values> state;
    std::optional<Value> data;
};

/// Takes a run's state back to where the step with this path (from the outermost) begins. Returns what is due then.
/// Errors: RefusedError; afterwards `state` may have changed, and must not be stored.
Targets travel(const Plan& plan, State& state, std::span<const std::string> path, const Travel& how);

}  // namespace stategraph::workflow
