#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

// JSON-RPC 2.0 as MCP uses it: messages as text, and back.
namespace stategraph::mcp::detail {

/// The texts of messages. `params` is a JSON object as text.
std::string requestText(std::int64_t id, std::string_view method, std::string_view params);
std::string notificationText(std::string_view method, std::string_view params);
/// Answers to the server's requests; `id` is JSON.
std::string answerText(std::string_view id, std::string_view result);
std::string refusalText(std::string_view id, int code, std::string_view message);
std::string quotedJson(std::string_view text);

/// A message of the server.
struct Incoming {
    enum class Kind : std::uint8_t { result, error, request, notification, unreadable };
    Kind kind = Kind::unreadable;
    /// Of an answer, also of one that cannot be read; -1 if it is not known.
    std::int64_t id = -1;
    bool is_json = true;
    bool has_id = false;  // false also for null, which errors have whose request could not be read
    /// Of a request: JSON.
    std::string request_id = {};
    std::string method = {};
    /// The result, or the params; empty if they are missing.
    boost::json::object content = {};
    std::int64_t error_code = 0;
    std::string error_text = {};
};
/// Reads a message, or a batch of them, which version 2025-03-26 allows. Never throws for what the text contains: what
/// is no message is `unreadable`. If it can only be the answer to a request, it has that request's id, and
/// `error_text` says what is wrong. A batch of more than 10,000 is one unreadable message.
std::vector<Incoming> readMessages(std::string_view text);

/// A member of that type; missing ones, and ones of another type, are empty.
std::string stringOf(const boost::json::object& object, std::string_view name);
const boost::json::object* objectIn(const boost::json::object& object, std::string_view name);
const boost::json::array* arrayIn(const boost::json::object& object, std::string_view name);
std::optional<bool> flagOf(const boost::json::object& object, std::string_view name);
std::optional<double> numberOf(const boost::json::object& object, std::string_view name);
/// The id of an answer, or a progress token: an integer that is not negative, also as text or as 3.0; else -1.
std::int64_t idOf(const boost::json::object& object, std::string_view name);

/// At most `limit` bytes of what a server wrote, in one line of ASCII: other bytes are shown as question marks.
std::string quotedPart(std::string_view text, std::size_t limit = 300);
/// Both texts as one, or an empty text if there is no memory: for errors of functions that must not throw.
std::string joined(std::string_view what, std::string_view why) noexcept;

}  // namespace stategraph::mcp::detail
