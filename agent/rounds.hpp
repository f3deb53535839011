#pragma once
#include <memory>
#include <string>

#include <stategraph/task.hpp>

#include "agent/plan.hpp"

namespace stategraph::agent::detail {

inline constexpr const char* begin_node = "begin";
inline constexpr const char* model_node = "model";
inline constexpr const char* tool_node = "tool";
inline constexpr const char* awaited_tool_node = "awaited_tool";
inline constexpr const char* refused_tool_node = "refused_tool";

/// Returns the node to which the calls of a tool go. Null means a tool that does not exist.
std::string nodeFor(const Tool* tool);

/// Begins a turn: resets the counts and results of the last one, and gives results to the calls that it left open
/// (agent/turn.cpp).
Update<State> beginTurn(const Plan& plan, const State& state, Runtime& runtime);
/// Returns what was sent to the thread meanwhile, if the agent has the thread and is not inside another graph's run.
Inbox::Waiting lookForMessages(const Plan& plan, const State& state, Runtime& runtime);
/// The same, up to the last one that is to steer the run.
Inbox::Waiting steeringMessages(const Plan& plan, const State& state, Runtime& runtime);
/// Adds them to the conversation, and reports that.
void takeMessages(Inbox::Waiting&& waiting, const State& state, Update<State>& update, Runtime& runtime);
/// Whether the conversation has a message with this id.
bool holds(const State& state, const std::string& id);
/// Calls the model once: checks the stop conditions, calls it, and sends its calls to the tools.
Task<Command<State>> callModel(std::shared_ptr<const Plan> plan, const State& state, Runtime& runtime);

}  // namespace stategraph::agent::detail
