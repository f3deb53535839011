#pragma once
#include <memory>

#include <stategraph/task.hpp>

#include "agent/plan.hpp"

namespace stategraph::agent::detail {

inline constexpr const char* begin_node = "begin";
inline constexpr const char* model_node = "model";
inline constexpr const char* tool_node = "tool";
inline constexpr const char* awaited_tool_node = "awaited_tool";

/// Where the calls of a tool go; null: of a tool that there is not.
std::string nodeFor(const Tool* tool);

/// A turn begins: the counts and results of the last one are reset.
Update<State> beginTurn();
/// One call of the model: asks the stop conditions, calls it, and sends its calls to the tools.
Task<Command<State>> callModel(std::shared_ptr<const Plan> plan, const State& state, Runtime& runtime);

}  // namespace stategraph::agent::detail
