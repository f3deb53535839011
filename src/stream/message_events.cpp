#include <functional>
#include <iterator>
#include <set>

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

using Ids = std::set<std::string, std::less<>>;

Ids toSet(std::vector<std::string>&& ids) {
    return {std::make_move_iterator(ids.begin()), std::make_move_iterator(ids.end())};
}

bool isOfMessages(const detail::ChannelSpec& channel) noexcept { return channel.reducer == "messages"; }

// Calls take(message's CBOR) for each message of a channel.
template <class Take>
void forEachOf(const State& state, const detail::ChannelSpec& channel, Take take) {
    std::string messages;
    Encoder out(messages);
    channel.behaviour->encode(channel, state.value(channel), out);
    forEachMessage(messages, take);
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

std::vector<WrittenMessage> Teller::messages(Task& task, int attempt) {
    if (!wants(StreamMode::messages) || task.planned.node == place_.topology().start) return {};
    std::vector<WrittenMessage> events;
    const TaskId id = place_.idOf(task);
    Ids known = toSet(events_.takeMessages(id, attempt));
    const Ids inside = toSet(events_.takeInside(id));
    const detail::Schema& schema = place_.core.schema();
    detail::ChannelSet read(schema.size());
    for (detail::Op& op : task.result.writes) {
        const detail::ChannelSpec& channel = schema.channel(op.channel);
        if (!isOfMessages(channel) || op.kind == checkpoint::WriteKind::clear) continue;
        if (place_.isInside() && !place_.core.returns(op.channel)) continue;
        if (!read.test(op.channel) && state_.has(op.channel)) {
            read.set(op.channel, true);
            forEachOf(state_, channel, [&](std::string_view message) { known.emplace(stream::messageId(message)); });
        }
        std::string written;
        Encoder out(written);
        detail::encodeWriteValue(op, out);
        forEachMessage(written, [&](std::string_view message) {
            const std::string_view name = stream::messageId(message);
            if (isRemoval(message) || !known.emplace(name).second) return;
            StreamEvent event = make(StreamMode::messages, &task);
            event.data =
                stream::toValue({.delta = false, .attempt = attempt, .message = message, .task_id = id.toString()});
            events.push_back({std::move(event), inside.contains(name)});
        });
    }
    return events;
}

// Readers of events of subgraphs receive a message once: from the task that wrote it first.
void Teller::emit(WrittenMessage&& message) {
    stream::Readers readers;
    if (message.was_reported_inside) readers.subgraphs = false;
    events_.emit(std::move(message.event), readers);
}

void Teller::noteInside(TaskId task, const detail::Core& inner, const State& state) {
    if (!events_.wants(StreamMode::messages, true)) return;
    std::vector<std::string> messages;
    for (const detail::ChannelSpec& channel : inner.schema().channels()) {
        if (!isOfMessages(channel) || !inner.returns(channel.index) || !state.has(channel.index)) continue;
        forEachOf(state, channel, [&](std::string_view message) { messages.emplace_back(stream::messageId(message)); });
    }
    if (!messages.empty()) events_.noteInside(task, std::move(messages));
}

}  // namespace stategraph::engine
