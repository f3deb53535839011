#pragma once
#include <string_view>

#include <boost/json.hpp>

// Messages as LangChain's clients know them: {"type": "human" | "ai" | "tool" | "system" | "remove", "content", "id",
// "tool_calls", …}.
namespace stategraph::serve {

/// What a message is.
struct LangChainKind {
    std::string_view word;  // a type or a role
    std::string_view type;
    std::string_view role;  // as the library's messages have it
};
/// Returns what a message is by its type, or by its role; null if it has none that is known.
const LangChainKind* langChainKindOf(const boost::json::object& message) noexcept;

/// The message as clients read it, whatever its form is. Members that are not known stay. What is no message stays as
/// it is.
boost::json::value langChainMessage(const boost::json::value& stored);
/// The same for a piece of an answer that a model is writing.
boost::json::value langChainPiece(const boost::json::value& piece);

}  // namespace stategraph::serve
