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
    std::string_view message;  // CBOR
    std::string_view task_id;  // 32 hexadecimal digits
};

Value toValue(const MessageEvent& event);
/// None if the value has another shape. Views into it.
std::optional<MessageEvent> readMessageEvent(const Value& data);

/// The "id" of a message; empty if it has none, or is no map. Never throws for CBOR that is well formed.
std::string_view messageId(std::string_view message);

/// Adds a part of a message to the part before it: the texts of "content" joined, everything else as in the first.
/// False, and nothing done, if they are not parts of one message of one task's attempt, or their contents are not
/// texts.
bool join(StreamEvent& part, const StreamEvent& next);

}  // namespace stategraph::stream
