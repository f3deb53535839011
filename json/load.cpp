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

json::object& objectIn(const ChannelSpec& channel, JsonSlot& slot) {
    if (!slot.set) slot.value.emplace_object();
    if (!slot.value.is_object()) refuse(channel, slot, "puts entries into it");
    return slot.value.get_object();
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

void JsonAccess::load(const ChannelSpec& channel, JsonSlot& slot, const LogPiece& piece) {
    switch (piece.op) {
        case LogOp::set: {
            Decoder in(piece.value);
            decodeItem(in, slot);
            break;
        }
        case LogOp::append:
        case LogOp::edit:
            JsonAppend::load(arrayIn(channel, slot), piece);
            break;
        case LogOp::put:
            JsonMerge::load(objectIn(channel, slot), piece);
            break;
        case LogOp::clear:
            slot = {};
            return;
    }
    slot.set = true;
}

}  // namespace stategraph::detail
