#include <cstdint>

#include <stategraph/detail/staged_encoder.hpp>
#include <stategraph/model/message.hpp>

#include "model/by_table.hpp"
#include "model/usage_codec.hpp"

// How messages are stored: the bytes that any struct with their tables has, written with few appends. A test compares
// them.
namespace stategraph {
namespace {

using detail::StagedEncoder;
using model::FinishReason;
using model::Message;
using model::Part;
using model::Role;
using model::ToolCall;
using model::ToolResult;

// The table of each struct has as many members as the function for it writes.
static_assert(detail::TableLayout<ToolCall>::count == 4);
static_assert(detail::TableLayout<ToolResult>::count == 4);
static_assert(detail::TableLayout<model::Text>::count == 1);
static_assert(detail::TableLayout<Message>::count == 7);

// Writes the name of an enumerator, or the number if it has none.
template <class E>
void writeEnum(StagedEncoder& out, E value) {
    for (const auto& row : detail::enum_names_of<E>.rows) {
        if (row.number == static_cast<std::int64_t>(value)) return out.text(row.name);
    }
    out.unsignedInteger(static_cast<std::uint64_t>(value));
}

void writeCall(StagedEncoder& out, const ToolCall& call) {
    out.map(4);
    out.key("id");
    out.text(call.id);
    out.key("name");
    out.text(call.name);
    out.key("arguments");
    out.text(call.arguments);
    out.key("provider_id");
    out.text(call.provider_id);
}

void writeResult(StagedEncoder& out, const ToolResult& result) {
    out.map(4);
    out.key("name");
    out.text(result.name);
    out.key("output");
    out.raw(result.output.bytes());
    out.key("call_id");
    out.text(result.call_id);
    out.key("is_error");
    out.boolean(result.is_error);
}

void writePart(StagedEncoder& out, Encoder& encoder, const Part& part) {
    if (const auto* const text = std::get_if<model::Text>(&part)) {
        out.map(2);
        out.key("text");
        out.text(text->text);
        out.key("type");
        out.text(model::Text::tag);
        return;
    }
    out.finish();
    detail::encodeItem(encoder, part);
}

void writeMessage(StagedEncoder& out, Encoder& encoder, const Message& message) {
    out.map(7);
    out.key("id");
    out.text(message.id);
    out.key("role");
    writeEnum(out, message.role);
    out.key("calls");
    out.array(message.calls.size());
    for (const ToolCall& call : message.calls) writeCall(out, call);
    out.key("usage");
    message.usage ? writeUsage(out, *message.usage) : out.null();
    out.key("result");
    message.result ? writeResult(out, *message.result) : out.null();
    out.key("content");
    out.array(message.content.size());
    for (const Part& part : message.content) writePart(out, encoder, part);
    out.key("finish_reason");
    message.finish_reason ? writeEnum(out, *message.finish_reason) : out.null();
}

}  // namespace

void Codec<model::ToolCall>::encode(Encoder& encoder, const model::ToolCall& call) {
    if (encoder.isForPeople()) return detail::encodeItem(encoder, model::ByTable(call));
    StagedEncoder out(encoder.out());
    writeCall(out, call);
    out.finish();
}

void Codec<model::ToolCall>::decode(Decoder& decoder, model::ToolCall& call) {
    model::ByTable by_table(call);
    detail::decodeItem(decoder, by_table);
}

void Codec<model::Message>::encode(Encoder& encoder, const model::Message& message) {
    if (encoder.isForPeople()) return detail::encodeItem(encoder, model::ByTable(message));
    StagedEncoder out(encoder.out());
    writeMessage(out, encoder, message);
    out.finish();
}

void Codec<model::Message>::decode(Decoder& decoder, model::Message& message) {
    model::ByTable by_table(message);
    detail::decodeItem(decoder, by_table);
}

}  // namespace stategraph
