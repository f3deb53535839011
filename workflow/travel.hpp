#pragma once
#include <optional>
#include <span>
#include <string>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

struct Travel {
    std::string run_id;
    std::optional<Value> input = {};
    std::optional<Values> state = {};
    std::optional<Value> data = {};
    Values outputs = {};  // by the paths of steps, from the workflow that is travelled in
    bool is_new = false;  // whether the run was never started
};

/// Takes a run's state to where the step with this path (from the outermost) begins; a new state is that of a run that
/// was never started. Returns what is due then. Errors: RefusedError; afterwards `state` may have changed, and must not
/// be stored.
Targets travel(const Plan& plan, State& state, std::span<const std::string> path, const Travel& how);

}  // namespace stategraph::workflow
