#pragma once
#include <optional>
#include <string>

#include <boost/json.hpp>

#include <stategraph/interrupt.hpp>
#include <stategraph/mcp/tool.hpp>

// Questions of runs as elicitations, and their answers.
namespace stategraph::mcp::detail {

/// Asks about a call of a tool that needs approval: a yes or no, and a reason. Other questions are asked as if there
/// were no AskQuestion.
ServedQuestion askAboutCall(const Interrupt& question);
/// How a tool asks a question.
ServedQuestion asked(const ServedTool& tool, const Interrupt& question);

/// The parameters of `elicitation/create`.
boost::json::object elicitationOf(const ServedQuestion& question);
/// The answer in the result of an elicitation. None: the person has declined, and the question has no answer for that.
std::optional<Value> answerIn(const boost::json::object& result, const ServedQuestion& question);

}  // namespace stategraph::mcp::detail
