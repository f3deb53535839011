#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/model/message.hpp>

// What servers with OpenAI's format attach to an answer and require again with the next request: Gemini's
// `extra_content`, which has the signatures of its thoughts, and OpenRouter's `reasoning_details`.
namespace stategraph::model::http {

/// The ProviderPart::format of the parts of chat completions.
inline constexpr std::string_view openai_format = "openai";

/// Collects what is attached to one answer, piece by piece.
class OpenAiMetadata {
public:
    /// Takes the members of a delta of the message.
    void takeDelta(const boost::json::object& delta);
    /// Takes the members of an element of `tool_calls`. `place` is the call's place in the answer.
    void takeCall(std::size_t place, const boost::json::object& delta);
    /// Returns the part for the finished answer, or none if nothing was attached. `host` is the server's.
    std::optional<ProviderPart> part(const Message& answer, std::string_view host) const;

private:
    void takeDetails(const boost::json::array& details);

    boost::json::object message_;
    std::map<std::size_t, boost::json::object> calls_;  // by place
};

/// Adds to `sent`, an assistant's message on the wire, what the server at `host` attached to the message. What other
/// servers attached is left out, because they may refuse members that they do not know.
void putMetadata(boost::json::object& sent, const Message& message, std::string_view host);

/// Returns whether the delta's content is a thought of Gemini.
bool isGoogleThought(const boost::json::object& delta);

}  // namespace stategraph::model::http
