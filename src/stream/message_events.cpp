#include <algorithm>

#include "src/stream/message_event.hpp"
#include "src/stream/teller.hpp"

// Reports messages of a run: parts that nodes emit, and messages that tasks wrote.
namespace stategraph::engine {
namespace {

// Calls take(message's CBOR) for each item of a list, or for the single item.
template <class Take>
void forEachMessage(std::string_view cbor, Take take) {
    Decoder in(cbor);
    if (in.peek() != Decoder::Type::array) {
        take(cbor);
        return;
    }
    for (std::size_t left = in.array(); left > 0; --left) take(in.raw());
}

bool isRemoval(std::string_view message) {
    Decoder in(message);
    if (in.peek() != Decoder::Type::map) return true;  // it is not a message
    for (std::size_t left = in.map(); left > 0; --left) {
        const std::string_view key = in.peek() == Decoder::Type::text ? in.text() : in.raw();
        if (key == "role") return in.peek() == Decoder::Type::text && in.text() == "remove";
        in.skip();
    }
    return false;
}

}  // namespace

void Teller::messagePart(Task& task, int attempt, const Value& part) {
    if (!wants(StreamMode::messages)) return;
    const TaskId id = place_.idOf(task);
    const std::string_view message = stream::messageId(part.bytes());
    if (!message.empty()) events_.noteMessage(id, attempt, message);
    StreamEvent event = make(StreamMode::messages, &task);
    event.data =
        stream::toValue({.delta = true, .attempt = attempt, .message = part.bytes(), .task_id = id.toString()});
    emit(std::move(event));
}

std::vector<StreamEvent> Teller::messages(Task& task, int attempt) {
    if (!wants(StreamMode::messages) || task.planned.node == place_.topology().start) return {};
    std::vector<StreamEvent> events;
    const TaskId id = place_.idOf(task);
    std::vector<std::string> known = events_.takeMessages(id, attempt);
    const detail::Schema& schema = place_.core.schema();
    detail::ChannelSet read(schema.size());
    for (detail::Op& op : task.result.writes) {
        const detail::ChannelSpec& channel = schema.channel(op.channel);
        if (channel.reducer != "messages" || op.kind == checkpoint::WriteKind::clear) continue;
        if (place_.isInside() && !place_.core.returns(op.channel)) continue;
        if (!read.test(op.channel) && state_.has(op.channel)) {
            read.set(op.channel, true);
            std::string before;
            Encoder out(before);
            channel.behaviour->encode(channel, state_.value(channel), out);
            forEachMessage(before, [&](std::string_view message) { known.emplace_back(stream::messageId(message)); });
        }
        std::string written;
        Encoder out(written);
        detail::encodeWriteValue(op, out);
        forEachMessage(written, [&](std::string_view message) {
            const std::string_view name = stream::messageId(message);
            if (isRemoval(message) || std::find(known.begin(), known.end(), name) != known.end()) return;
            known.emplace_back(name);
            StreamEvent event = make(StreamMode::messages, &task);
            event.data =
                stream::toValue({.delta = false, .attempt = attempt, .message = message, .task_id = id.toString()});
            events.push_back(std::move(event));
        });
    }
    return events;
}

}  // namespace stategraph::engine
