#include "json/folds.hpp"

namespace stategraph::detail {

namespace {

void appendWritten(JsonSlot& slot, std::span<Op* const> ops) {
    std::vector<SharedJson*> written;
    written.reserve(ops.size());
    for (Op* op : ops) written.push_back(&writtenBy(*op));
    JsonNodes::append(slot.json, written);
}

}  // namespace

void requireList(const ChannelSpec& channel, const JsonSlot& slot) {
    if (slot.json.isArray()) return;
    throw WrongTypeError("the reducer " + channel.reducer + " needs a list, and the channel holds " +
                         std::string(kindName(slot.json.kind())) + ": overwrite() it with a list");
}

void JsonAppend::fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log) {
    requireList(channel, slot);
    const std::size_t before = slot.json.size();
    appendWritten(slot, ops);
    if (log == nullptr) return;
    writeLoggedOp(*log, channel.name, LogOp::append);
    if (log->encodedItems() == nullptr || !appendEncoded(*log, ops)) encodeTail(channel, &slot, before, *log);
}

void JsonAppend::unfold(JsonSlot& slot, std::span<Op* const> ops) {
    std::size_t added = 0;
    for (Op* op : ops) added += JsonNodes::count(writtenBy(*op));
    JsonNodes::truncate(slot.json, slot.json.size() - added);
}

std::size_t JsonAppend::length(const void* slot) noexcept {
    const SharedJson& json = static_cast<const JsonSlot*>(slot)->json;
    return json.isArray() ? json.size() : 0;
}

void JsonAppend::encodeTail(const ChannelSpec&, const void* slot, std::size_t from, Encoder& out) {
    JsonNodes::encodeTail(static_cast<const JsonSlot*>(slot)->json, from, out);
}

void JsonTopic::fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log) {
    JsonSlot now{json::value(json::array()), true};
    appendWritten(now, ops);
    ops.front()->keep(Undo{std::move(now)});
    std::swap(slot, ops.front()->as<Undo>().before);
    if (log != nullptr) logSet(channel, slot, *log);
}

void JsonTopic::unfold(JsonSlot& slot, std::span<Op* const> ops) { slot = std::move(ops.front()->as<Undo>().before); }

json::object& JsonMap::require(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops) {
    const auto check = [&](const SharedJson& value, const char* what) {
        if (value.isObject()) return;
        throw WrongTypeError("the reducer " + channel.reducer + " needs objects, and " + what + " is " +
                             std::string(kindName(value.kind())));
    };
    check(slot.json, "what the channel holds");
    for (Op* op : ops) check(writtenBy(*op), "what was written");
    return JsonNodes::own(slot.json).get_object();
}

constinit const Behaviour json_replace = makeJsonBehaviour<ReplaceFold<JsonSlot, JsonAccess>>();
constinit const Behaviour json_append = makeJsonBehaviour<JsonAppend>();
constinit const Behaviour json_topic = makeJsonBehaviour<JsonTopic>();
constinit const Behaviour json_merge = makeJsonBehaviour<JsonMerge>();
constinit const Behaviour json_binary = makeJsonBehaviour<BinaryFold<JsonSlot, JsonFunction, JsonAccess>>();

}  // namespace stategraph::detail
