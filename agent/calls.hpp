#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include <stategraph/task.hpp>

#include "agent/plan.hpp"

namespace stategraph::agent::detail {

/// What happens if a tool throws.
enum class OnFailure : std::uint8_t {
    tell,   // the exception becomes the call's result
    throw_  // the node fails: its policy tries again, and finally its handler creates the result (failedCall)
};

/// Handles one call of a tool: checks its arguments, has it approved if that is needed, executes it once, and adds its
/// result. A faulty call gets a result that tells the model what is wrong.
Update<State> callTool(const Plan& plan, const model::ToolCall& call, Runtime& runtime, OnFailure on_failure);
/// Does the same for a tool that is a coroutine.
Task<Update<State>> awaitTool(std::shared_ptr<const Plan> plan, const model::ToolCall& call, Runtime& runtime,
                              OnFailure on_failure);
/// Returns the result of a call whose node has failed for good.
Update<State> failedCall(const model::ToolCall& call, const std::string& error);

}  // namespace stategraph::agent::detail
