#pragma once
#include <functional>
#include <string>

#include <stategraph/agent/state.hpp>
#include <stategraph/command.hpp>
#include <stategraph/value.hpp>

namespace stategraph::serve {

/// Makes the answer about one call.
struct AnswersCalls {
    std::function<Command<>(const std::string& call_id, agent::Decision decision)> decide;
    std::function<Command<>(const std::string& call_id, agent::ClientResult result)> give;
};
/// The answers of a request to decide about calls: {"call_id", "approved", "reason", "arguments"}, {"call_id",
/// "output", "is_error"}, or {"decisions": […]} of a page that waited for all of them. Errors: WrongTypeError,
/// InvalidArgumentError, and those of `by` if no decision is accepted.
Command<> decisionsBy(const Value& body, const AnswersCalls& by);

}  // namespace stategraph::serve
