#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/serve/endpoint.hpp>

namespace stategraph::serve {

/// The request of `useChat` of the AI SDK: the page's conversation, of which the new part is used.
struct ChatRequest {
    std::string thread;
    /// The body of Operation::start for the user's last message: {"text"}, and {"message_id"}, {"files"} and
    /// {"anew"} where the page sent them. Null if the page sends decisions instead.
    Value start;
    /// What becomes of that message if a run is under way: "reject", "enqueue", "steer" or "interrupt".
    std::string strategy = "reject";
    /// The body of Operation::decide for the calls that the page showed as waiting; null if it decides nothing.
    Value decisions;
    /// With decisions: the calls in the message that decides, which the response continues.
    std::vector<ShownCall> shown = {};
    /// The lines of that message, for pages that reconnect.
    std::vector<std::string> message = {};
};
/// Returns the word if it is one. Errors: InvalidArgumentError.
std::string strategyOf(std::string_view word);
/// Throws WrongTypeError and InvalidArgumentError.
ChatRequest readChat(const Value& body);

}  // namespace stategraph::serve
