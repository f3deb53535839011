#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include <stategraph/task.hpp>

#include "agent/plan.hpp"

namespace stategraph::agent::detail {

/// What becomes of what a tool throws.
enum class OnFailure : std::uint8_t {
    tell,   // it is the call's result
    throw_  // the node fails: its policy tries again, and its handler makes the result (failedCall)
};

/// One call of a tool: its arguments are checked, it is approved where that is needed, executed once, and answered.
/// A faulty call gets a result that says what is wrong, for the model.
Update<State> callTool(const Plan& plan, const model::ToolCall& call, Runtime& runtime, OnFailure on_failure);
/// The same for a tool that is a coroutine.
Task<Update<State>> awaitTool(std::shared_ptr<const Plan> plan, const model::ToolCall& call, Runtime& runtime,
                              OnFailure on_failure);
/// The result of a call whose node has failed for good.
Update<State> failedCall(const model::ToolCall& call, const std::string& error);

}  // namespace stategraph::agent::detail
