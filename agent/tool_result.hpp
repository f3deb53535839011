#pragma once
#include <string>

#include <stategraph/agent/tool.hpp>
#include <stategraph/model/message.hpp>
#include <stategraph/value.hpp>

namespace stategraph::agent::detail {

/// Returns the result of a call as a message, of the value that the tool returned or a client gave: with what the model
/// receives (Tool::to_model), within the tool's limits. If the tool's own function throws, the text is the result.
/// Errors: those of the run itself (failureUnderWay).
model::Message resultMessage(const Tool& tool, const model::ToolCall& call, Value returned, bool is_error = false);

/// Returns the result of a call that has failed.
model::Message failedResult(const model::ToolCall& call, std::string text);

}  // namespace stategraph::agent::detail
