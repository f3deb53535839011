#pragma once
#include <stategraph/detail/behaviours.hpp>
#include <stategraph/error.hpp>

#include "json/operand.hpp"

// What all JSON channels do alike. A fold adds
//   fold(channel, slot, ops, log)   folds and logs; leaves the slot as it was if it throws
//   unfold(slot, ops)               takes it back
namespace stategraph::detail {

namespace json = boost::json;

inline json::value& writtenBy(Op* op) noexcept { return op->as<JsonOperand>().slot.value; }

inline void logSet(const ChannelSpec& channel, const JsonSlot& slot, Encoder& log) {
    writeLoggedOp(log, channel.name, LogOp::set);
    Codec<json::value>::encode(log, slot.value);
}

/// For messages: "an array", "a string", …
std::string_view kindName(const json::value& value) noexcept;
/// Errors: WrongTypeError naming the reducer.
json::array& requireArray(const ChannelSpec& channel, JsonSlot& slot);
json::object& requireObject(const ChannelSpec& channel, json::value& value, std::string_view what);

/// One operation of the log, whatever the reducer of today is.
void loadJson(const ChannelSpec& channel, JsonSlot& slot, const LogPiece& piece);

template <class Fold>
struct JsonBehaviour {
    static JsonSlot& at(void* place) noexcept { return *static_cast<JsonSlot*>(place); }

    static void apply(const ChannelSpec& channel, void* place, std::span<Op* const> ops, Encoder* log) {
        JsonSlot& slot = at(place);
        Op* op = replacing(ops);
        if (op == nullptr) {
            Fold::fold(channel, slot, ops, log);
            return;
        }
        if (op->kind == WriteKind::clear) {
            op->keep(std::exchange(slot, initialOf<JsonSlot>(channel)));
        } else {
            std::swap(slot, op->as<JsonOperand>().slot);
        }
        if (log == nullptr) return;
        if (slot.set) {
            logSet(channel, slot, *log);
        } else {
            writeLoggedOp(*log, channel.name, LogOp::clear);
        }
    }

    static void undo(const ChannelSpec&, void* place, std::span<Op* const> ops) {
        JsonSlot& slot = at(place);
        Op* op = replacing(ops);
        if (op == nullptr) {
            Fold::unfold(slot, ops);
        } else if (op->kind == WriteKind::clear) {
            slot = std::move(op->as<JsonSlot>());
        } else {
            std::swap(slot, op->as<JsonOperand>().slot);
        }
    }

    static void reset(const ChannelSpec& channel, void* place) { at(place) = initialOf<JsonSlot>(channel); }
    static void encode(const ChannelSpec&, const void* place, Encoder& out) {
        Codec<json::value>::encode(out, static_cast<const JsonSlot*>(place)->value);
    }
    static void load(const ChannelSpec& channel, void* place, std::span<const LogPiece> pieces) {
        for (const LogPiece& piece : pieces) loadJson(channel, at(place), piece);
    }
    static void copy(void* to, const void* from) { at(to) = *static_cast<const JsonSlot*>(from); }
    static void write(const ChannelSpec& channel, const void* place, Writes& writes) {
        const auto& slot = *static_cast<const JsonSlot*>(place);
        const bool reduces = channel.kind == ChannelKind::reduced || channel.kind == ChannelKind::topic;
        if (slot.set)
            writes.add<JsonOperand>(channel.index, reduces ? WriteKind::add : WriteKind::set, JsonOperand{slot, {}});
    }
    static void decodeWrite(const ChannelSpec& channel, WriteKind kind, Decoder& in, Writes& writes) {
        if (kind == WriteKind::clear) {
            writes.addClear(channel.index);
        } else {
            writes.addDecoded(value_ops<JsonOperand>, channel.index, kind, in);
        }
    }

    static constexpr Behaviour make() {
        Behaviour behaviour{.apply = apply,
                            .undo = undo,
                            .reset = reset,
                            .encode = encode,
                            .load = load,
                            .copy = copy,
                            .write = write,
                            .decodeWrite = decodeWrite};
        if constexpr (requires { Fold::encodeTail; }) {
            behaviour.length = Fold::length;
            behaviour.encodeTail = Fold::encodeTail;
        }
        if constexpr (requires { Fold::prepare; }) behaviour.prepare = Fold::prepare;
        return behaviour;
    }
};

}  // namespace stategraph::detail
