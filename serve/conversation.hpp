#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/serve/protocol.hpp>

// The conversation of a thread, for pages that are loaded.
namespace stategraph::serve {

/// The id that clients know of a message of a person, which may be stored as "user-ID".
std::string shownUserId(const std::string& stored);
/// The id of the message that answers a person's message, as clients know it. Everything until the person's next
/// message belongs to it: texts, calls and their results, of all agents.
std::string answerId(const std::string& user_message);
/// Whether the message with this id is one that an agent has written to its model in the user's role, to ask for an
/// answer of another form.
bool isAgentsOwn(std::string_view id) noexcept;

/// Which messages: at most so many, the newest, of those before one.
struct MessagePage {
    std::size_t limit = 100;
    std::string before = {};  // its id; empty: of all
};

/// The messages as pages of the AI SDK have them (UIMessage): each of the user, and one for each answer. `ui` is the
/// protocol that would have reported them. `state` is the thread as JSON with its subgraphs (Endpoint::state), of which
/// those that have not ended are a part of the last answer, and the open questions too. Errors: InvalidArgumentError
/// for a page before a message that does not exist.
boost::json::array uiConversation(const Protocol& ui, const boost::json::object& state, const MessagePage& page);
/// The messages as LangGraph's clients have them. Errors: likewise.
boost::json::array langGraphConversation(const boost::json::object& state, const MessagePage& page);

}  // namespace stategraph::serve
