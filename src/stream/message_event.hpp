#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/stream.hpp>

// The data of an event of the mode `messages`.
namespace stategraph::stream {

struct MessageEvent {
    bool delta = false;
    int attempt = 1;
    std::string_view message;  // as CBOR
    std::string_view task_id;  // 32 hexadecimal digits
};

Value toValue(const MessageEvent& event);
/// Returns views into `data`, or none if it has another shape.
std::optional<MessageEvent> readMessageEvent(const Value& data);

/// Returns the "id" of a message, or an empty text if it has none or is not a map. Never throws for CBOR that is well
/// formed.
std::string_view messageId(std::string_view message);

/// Appends a part of a message to the part before it: the texts of "content" are joined, and everything else stays as
/// in the first. Returns false and does nothing if they are not parts of one message of one attempt at a task, or if
/// their contents are not texts.
bool join(StreamEvent& part, const StreamEvent& next);

}  // namespace stategraph::stream
