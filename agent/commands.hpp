#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/detail/node.hpp>
#include <stategraph/runtime.hpp>

#include "agent/plan.hpp"

// Commands that tools return: they are stored with the results of the calls, and followed by the node "model" when all
// calls of the round have ended.
namespace stategraph::agent::detail {

/// What a tool with Commands has returned.
struct Returned {
    Value output = {};
    /// As State::commands has it; none if the result was given by a person.
    std::optional<Value> command = {};
};
/// Takes apart what a tool has returned; for a tool without Commands all of it is the output.
Returned takeApart(const Tool& tool, const std::string& call_id, Value returned);
/// What a tool with Commands returns, for a Command that a thread has kept (State::commands).
Value withRecordedCommand(Value output, const Value& command);
/// The id of the call that returned a Command which a thread has kept.
std::string calledBy(const Value& command);

/// Follows the Commands of a round, in the order of the calls. If one is for the graph around the agent, the agent is
/// left: that graph gets the conversation and, if a Command has an update, the turn's usage, in its channels of these
/// names, and the updates and targets of all such Commands. Otherwise the updates change the agent's state, and the
/// turn ends if a target is END. Errors: InvalidUpdateError for a tool that is gone, or Commands for different states.
void follow(const Plan& plan, const State& state, Runtime& runtime, stategraph::detail::TaskResult& result);

}  // namespace stategraph::agent::detail
