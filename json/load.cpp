#include "json/folds.hpp"

namespace stategraph::detail {
namespace {

[[noreturn]] void refuse(const ChannelSpec& channel, const JsonSlot& slot, std::string_view what) {
    throw WrongTypeError("channel '" + channel.name + "' holds " + std::string(kindName(slot.json.kind())) +
                             " and its log " + std::string(what),
                         {.channel = channel.name});
}

// An unset channel accepts elements or entries, as an empty one does.
json::array& arrayIn(const ChannelSpec& channel, JsonSlot& slot) {
    if (!slot.set) slot.json = json::value(json::array());
    if (!slot.json.isArray()) refuse(channel, slot, "adds elements to it");
    return JsonNodes::own(slot.json).get_array();
}

json::object& objectIn(const ChannelSpec& channel, JsonSlot& slot) {
    if (!slot.set) slot.json = json::value(json::object());
    if (!slot.json.isObject()) refuse(channel, slot, "puts entries into it");
    return JsonNodes::own(slot.json).get_object();
}

}  // namespace

std::string_view kindName(json::kind kind) noexcept {
    switch (kind) {
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
