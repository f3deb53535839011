#pragma once
#include <cstdint>
#include <string_view>

#include <boost/json.hpp>

#include "serve/langchain_message.hpp"

// Messages as LangChain's clients know them: {"type": "human" | "ai" | "tool" | "system" | "remove", "content", "id",
// "tool_calls", …}.
namespace stategraph::langgraph {

/// How the messages of a channel are stored.
enum class MessageForm : std::uint8_t {
    langchain,  // JSON in the form of the clients
    plain,      // stategraph::Message: role, content, id
    typed,      // model::Message: role, content as parts, calls, result
};

/// The message as clients read it, whatever its form is. Members that are not known stay. What is no message stays as
/// it is.
boost::json::value toWire(const boost::json::value& stored);
/// The same for a piece of an answer that a model is writing.
boost::json::value pieceToWire(const boost::json::value& piece);

/// Reads what a client sent as a message: with a type or a role, a pair of a role and a text, or a text of the user.
/// Of the stored form `langchain` all members stay. Errors: InvalidRequest, which names `where`.
boost::json::value fromWire(const boost::json::value& sent, MessageForm form, std::string_view where);

}  // namespace stategraph::langgraph
