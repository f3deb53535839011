#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json.hpp>

// Messages as clients of the protocol "ag-ui" know them: {"id", "role", "content", "toolCalls", "toolCallId"}.
namespace stategraph::serve {

/// Returns "user", "assistant", "tool", "system", or an empty text for other messages. It knows the words of stored
/// messages, of clients, and of LangChain, whose messages a state as JSON may have.
std::string_view roleOf(const boost::json::object& message);

/// The id that clients know. An agent stores a client's message ID as "user-ID" (`renames`).
std::string shownId(const boost::json::object& message, bool renames);
/// The id under which the message of a client is stored.
std::string storedId(const std::string& id, bool renames);
/// The id of the message that has the thoughts of a message.
std::string reasoningId(const std::string& message);
/// A text unchanged, and any other value as JSON.
std::string asText(const boost::json::value& value);

struct ShownMessages {
    bool reasoning = true;
    bool renames = false;
};
/// Stored messages as clients read them. Parts that clients have no form for, such as those of a provider's own tools,
/// are left out.
boost::json::array agUiMessages(const boost::json::array& stored, ShownMessages options);

/// The parts of what a client has written: {"type": "text", "text"} and {"type": "file", "media_type", "url" | "data"}.
/// Errors: InvalidArgumentError for a part that is neither a text nor a file with its media type.
boost::json::array partsOf(const boost::json::object& sent);
/// The text of such parts.
std::string textOfParts(const boost::json::array& parts);

/// How a graph stores messages: as sg::Message, as model::Message, or as JSON.
enum class StoredForm : std::uint8_t { plain, typed, json };
/// A client's message as a graph stores it. Null: a message that is the client's alone, such as thoughts. Errors:
/// InvalidArgumentError.
boost::json::value storedMessage(const boost::json::object& sent, StoredForm form);

}  // namespace stategraph::serve
