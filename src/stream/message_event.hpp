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

/// Returns the text of "content" of `next`, a view into it, if `next` can be appended to `part`: both are parts of one
/// message of one attempt at a task, and their contents are texts.
std::optional<std::string_view> continuation(const StreamEvent& part, const StreamEvent& next);
/// Appends such texts to the content of a part; everything else stays as it is. Errors: std::bad_alloc.
void append(StreamEvent& part, std::string_view text);

}  // namespace stategraph::stream
