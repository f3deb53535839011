#pragma once
#include <stategraph/detail/behaviours.hpp>
#include <stategraph/error.hpp>

#include "json/json_node.hpp"
#include "json/operand.hpp"

// The folds of JSON channels. Their value is a JsonSlot, operations hold a JsonOperand, and where a reducer needs a
// list or an object there may be a value of any kind. The reducers are those of behaviours.hpp.
namespace stategraph {

template <>
struct Codec<detail::JsonSlot> {
    static void encode(Encoder& out, const detail::JsonSlot& slot) { Codec<SharedJson>::encode(out, slot.json); }
    static void decode(Decoder& in, detail::JsonSlot& slot) {
        Codec<SharedJson>::decode(in, slot.json);
        slot.set = true;
    }
};

namespace detail {

namespace json = boost::json;

inline SharedJson& writtenBy(Op& op) noexcept { return op.as<JsonOperand>().slot.json; }
/// Returns the written value, whose parts may be moved out. Cost: a copy, if it has other owners.
inline json::value& ownWrittenBy(Op& op) { return JsonNodes::own(writtenBy(op)); }

/// Returns text for messages, such as "an array" or "a string".
std::string_view kindName(json::kind kind) noexcept;

struct JsonAccess {
    using Operand = JsonOperand;
    static JsonSlot& written(Op& op) noexcept { return op.as<JsonOperand>().slot; }
    static void write(Writes& writes, ChannelIndex channel, WriteKind kind, const JsonSlot& slot) {
        if (slot.set) writes.add<JsonOperand>(channel, kind, JsonOperand{slot, {}});
    }
    /// Loads one operation of the log, independent of the current reducer.
    static void load(const ChannelSpec& channel, JsonSlot& slot, const LogPiece& piece);
};

/// Throws WrongTypeError, naming the reducer, if the value is not a list.
void requireList(const ChannelSpec& channel, const JsonSlot& slot);

/// Like AppendFold, for lists whose elements may be shared.
struct JsonAppend {
    static void fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log);
    static void unfold(JsonSlot& slot, std::span<Op* const> ops);
    static void load(json::array& items, const LogPiece& piece) { AppendFold<json::array>::load(items, piece); }
    static std::size_t length(const void* slot) noexcept;  // 0 if it is not a list
    static void encodeTail(const ChannelSpec&, const void* slot, std::size_t from, Encoder& out);
};

/// Like TopicFold.
struct JsonTopic : JsonAppend {
    struct Undo {
        JsonSlot before;
    };
    static void fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log);
    static void unfold(JsonSlot& slot, std::span<Op* const> ops);
};

struct JsonMap {
    using Map = json::object;
    static json::object& require(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops);
    static json::object& map(JsonSlot& slot) { return JsonNodes::own(slot.json).get_object(); }
    static json::object& written(Op& op) { return ownWrittenBy(op).get_object(); }
    static std::string_view key(const json::key_value_pair& entry) noexcept { return entry.key(); }
    static json::value& mapped(json::key_value_pair& entry) noexcept { return entry.value(); }
};

using JsonMerge = MergeFold<JsonSlot, JsonMap>;

/// Wraps a user's function as a reducer of slots.
struct JsonFunction {
    JsonReducer::Function reduce;  // one of the two is set
    JsonReducer::SharedFunction reduce_shared;
    JsonSlot operator()(const JsonSlot& value, const JsonSlot& written) const {
        if (reduce_shared) return {reduce_shared(value.json, written.json), value.set};
        return {SharedJson(reduce(value.json.get(), written.json.get())), value.set};
    }
};

template <class Fold>
constexpr Behaviour makeJsonBehaviour() {
    return makeBehaviour<JsonSlot, Fold, JsonAccess>();
}

}  // namespace detail
}  // namespace stategraph
