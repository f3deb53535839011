#pragma once
#include <string>

#include <stategraph/serve/endpoint.hpp>

namespace stategraph::serve {

/// What `useChat` of the AI SDK sends: a conversation as the page has it, of which what is new is taken.
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
