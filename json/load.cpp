#include "json/folds.hpp"

namespace stategraph::detail {
namespace {

[[noreturn]] void refuse(const ChannelSpec& channel, const JsonSlot& slot, std::string_view what) {
    throw WrongTypeError("channel '" + channel.name + "' holds " + std::string(kindName(slot.value)) + " and its log " +
                             std::string(what),
                         {.channel = channel.name});
}

// An unset channel takes elements or entries as an empty one would.
json::array& arrayIn(const ChannelSpec& channel, JsonSlot& slot) {
    if (!slot.set) slot.value.emplace_array();
    if (!slot.value.is_array()) refuse(channel, slot, "adds elements to it");
    return slot.value.get_array();
}

void edit(const ChannelSpec& channel, json::array& items, Decoder& in) {
    for (std::size_t count = in.array(); count > 0; --count) {
        const std::size_t parts = in.array();
        const std::uint64_t at = in.unsignedInteger();
        if (parts == 1 && at < items.size()) {
            items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (parts == 2 && at <= items.size()) {
            if (at == items.size()) items.emplace_back(nullptr);
            Codec<json::value>::decode(in, items[static_cast<std::size_t>(at)]);
        } else {
            throw WrongTypeError("the log of channel '" + channel.name + "' edits outside its list",
                                 {.channel = channel.name});
        }
    }
}

}  // namespace

std::string_view kindName(const json::value& value) noexcept {
    switch (value.kind()) {
        case json::kind::null:
            return "null";
        case json::kind::bool_:
            return "a boolean";
        case json::kind::string:
            return "a string";
        case json::kind::array:
            return "an array";
        case json::kind::object:
            return "an object";
        default:
            return "a number";
    }
}

json::array& requireArray(const ChannelSpec& channel, JsonSlot& slot) {
    if (json::array* items = slot.value.if_array()) return *items;
    throw WrongTypeError("the reducer " + channel.reducer + " needs a list, and the channel holds " +
                         std::string(kindName(slot.value)) + ": overwrite() it with a list");
}

json::object& requireObject(const ChannelSpec& channel, json::value& value, std::string_view what) {
    if (json::object* entries = value.if_object()) return *entries;
    throw WrongTypeError("the reducer " + channel.reducer + " needs objects, and " + std::string(what) + " is " +
                         std::string(kindName(value)));
}

void loadJson(const ChannelSpec& channel, JsonSlot& slot, const LogPiece& piece) {
    Decoder in(piece.value);
    switch (piece.op) {
        case LogOp::set:
            Codec<json::value>::decode(in, slot.value);
            break;
        case LogOp::append: {
            json::array& items = arrayIn(channel, slot);
            for (std::size_t count = in.array(); count > 0; --count)
                Codec<json::value>::decode(in, items.emplace_back(nullptr));
            break;
        }
        case LogOp::put: {
            if (!slot.set) slot.value.emplace_object();
            if (!slot.value.is_object()) refuse(channel, slot, "puts entries into it");
            json::object entries;
            Codec<json::object>::decode(in, entries);
            for (auto& entry : entries) slot.value.get_object().insert_or_assign(entry.key(), std::move(entry.value()));
            break;
        }
        case LogOp::edit:
            edit(channel, arrayIn(channel, slot), in);
            break;
        case LogOp::clear:
            slot = {};
            return;
    }
    slot.set = true;
}

}  // namespace stategraph::detail
