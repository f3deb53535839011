#include "src/stream/message_event.hpp"

#include <stategraph/error.hpp>

namespace stategraph::stream {
namespace {

// Calls take(key, value's CBOR) for each entry of a map with text keys. Returns false if it is no such map.
template <class Take>
bool forEachEntry(std::string_view cbor, Take take) {
    Decoder in(cbor);
    if (in.peek() != Decoder::Type::map) return false;
    for (std::size_t left = in.map(); left > 0; --left) {
        if (in.peek() != Decoder::Type::text) return false;
        const std::string_view key = in.text();
        take(key, in.raw());
    }
    return true;
}

std::optional<std::string_view> textOf(std::string_view cbor) {
    Decoder in(cbor);
    if (in.peek() != Decoder::Type::text) return {};
    return in.text();
}

std::optional<std::string_view> contentOf(std::string_view message) {
    std::optional<std::string_view> content;
    forEachEntry(message, [&](std::string_view key, std::string_view value) {
        if (key == "content") content = textOf(value);
    });
    return content;
}

}  // namespace

Value toValue(const MessageEvent& event) {
    std::string cbor;
    Encoder out(cbor);
    out.map(4);
    out.text("delta");
    out.boolean(event.delta);
    out.text("attempt");
    out.integer(event.attempt);
    out.text("message");
    out.raw(event.message);
    out.text("task_id");
    out.text(event.task_id);
    return Value::fromCbor(std::move(cbor));
}

std::optional<MessageEvent> readMessageEvent(const Value& data) {
    MessageEvent event;
    try {
        const bool is_map = forEachEntry(data.bytes(), [&](std::string_view key, std::string_view value) {
            Decoder in(value);
            if (key == "delta") event.delta = in.boolean();
            if (key == "attempt") event.attempt = static_cast<int>(in.integer());
            if (key == "message") event.message = value;
            if (key == "task_id") event.task_id = in.text();
        });
        if (!is_map || event.message.empty()) return {};
        return event;
    } catch (const WrongTypeError&) {
        return {};
    }
}

std::string_view messageId(std::string_view message) {
    std::string_view id;
    forEachEntry(message, [&](std::string_view key, std::string_view value) {
        if (key == "id") id = textOf(value).value_or("");
    });
    return id;
}

// Returns whether a part says nothing besides its text that the part before it has not said.
bool addsTextAlone(std::string_view part, std::string_view next) {
    constexpr std::size_t members_max = 16;  // a part of a text has fewer
    if (Decoder(part).map() > members_max || Decoder(next).map() > members_max) return false;
    bool is_alone = true;
    const bool is_read = forEachEntry(next, [&](std::string_view key, std::string_view value) {
        bool is_same = key == "content";
        forEachEntry(part, [&](std::string_view known, std::string_view said) {
            is_same = is_same || (known == key && said == value);
        });
        is_alone = is_alone && is_same;
    });
    return is_read && is_alone;
}

std::optional<std::string_view> continuation(const StreamEvent& part, const StreamEvent& next) {
    if (part.mode != StreamMode::messages || next.mode != StreamMode::messages || part.node != next.node ||
        part.ns != next.ns)
        return {};
    const auto first = readMessageEvent(part.data);
    const auto second = readMessageEvent(next.data);
    if (!first || !second || !first->delta || !second->delta || first->task_id != second->task_id ||
        first->attempt != second->attempt)
        return {};
    const auto text = contentOf(second->message);
    if (!text || messageId(first->message) != messageId(second->message) || !contentOf(first->message) ||
        !addsTextAlone(first->message, second->message))
        return {};
    return text;
}

void append(StreamEvent& part, std::string_view text) {
    const auto first = readMessageEvent(part.data);
    std::string message;
    Encoder out(message);
    Decoder in(first->message);
    const std::size_t entries = in.map();
    out.map(entries);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::string_view key = in.text();
        const std::string_view value = in.raw();
        out.text(key);
        if (key == "content") {
            out.text(std::string(*textOf(value)).append(text));
        } else {
            out.raw(value);
        }
    }
    part.data = toValue({.delta = true, .attempt = first->attempt, .message = message, .task_id = first->task_id});
}

}  // namespace stategraph::stream
