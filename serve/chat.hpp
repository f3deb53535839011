#pragma once
#include <string>

#include <stategraph/serve/endpoint.hpp>

namespace stategraph::serve {

/// The request of `useChat` of the AI SDK: the page's conversation, of which the new part is used.
struct ChatRequest {
    std::string thread;
    /// What the user said last; empty if the page sends decisions instead.
    std::string text;
    /// The body of Operation::decide for the calls that the page was shown as waiting; null if it decides nothing.
    Value decisions;
};
/// Errors: WrongTypeError, InvalidArgumentError.
ChatRequest readChat(const Value& body);

}  // namespace stategraph::serve
