#pragma once
#include <memory>

#include <stategraph/task.hpp>

#include "agent/plan.hpp"

namespace stategraph::agent::detail {

/// One call of a tool: its arguments are checked, it is approved where that is needed, executed once, and answered.
/// A faulty call gets a result that says what is wrong, for the model.
Update<State> callTool(const Plan& plan, const model::ToolCall& call, Runtime& runtime);
/// The same for a tool that is a coroutine.
Task<Update<State>> awaitTool(std::shared_ptr<const Plan> plan, const model::ToolCall& call, Runtime& runtime);

}  // namespace stategraph::agent::detail
