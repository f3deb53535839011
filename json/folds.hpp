#pragma once
#include <stategraph/detail/behaviours.hpp>
#include <stategraph/error.hpp>

#include "json/operand.hpp"

// What JSON channels have of their own: their value is a JsonSlot, operations hold a JsonOperand, and where a reducer
// needs a list or an object there may be anything. The reducers are those of behaviours.hpp.
namespace stategraph {

template <>
struct Codec<detail::JsonSlot> {
    static void encode(Encoder& out, const detail::JsonSlot& slot) {
        Codec<boost::json::value>::encode(out, slot.value);
    }
    static void decode(Decoder& in, detail::JsonSlot& slot) {
        Codec<boost::json::value>::decode(in, slot.value);
        slot.set = true;
    }
};

namespace detail {

namespace json = boost::json;

inline json::value& writtenBy(Op& op) noexcept { return op.as<JsonOperand>().slot.value; }

/// For messages: "an array", "a string", …
std::string_view kindName(const json::value& value) noexcept;

struct JsonAccess {
    using Operand = JsonOperand;
    static JsonSlot& written(Op& op) noexcept { return op.as<JsonOperand>().slot; }
    static void write(Writes& writes, ChannelIndex channel, WriteKind kind, const JsonSlot& slot) {
        if (slot.set) writes.add<JsonOperand>(channel, kind, JsonOperand{slot, {}});
    }
    /// One operation of the log, whatever the reducer of today is.
    static void load(const ChannelSpec& channel, JsonSlot& slot, const LogPiece& piece);
};

/// Errors of `require`: WrongTypeError naming the reducer.
struct JsonList {
    using List = json::array;
    static json::array& require(const ChannelSpec& channel, JsonSlot& slot);
    static json::array& list(JsonSlot& slot) noexcept { return slot.value.get_array(); }
    static const json::array& list(const JsonSlot& slot) noexcept { return slot.value.get_array(); }
    static std::size_t length(const JsonSlot& slot) noexcept;  // 0 of what is no list
    static JsonSlot make(json::array&& items) { return {std::move(items), true}; }
    /// The elements of a written list, or any other value as one.
    static void add(json::array& items, std::span<Op* const> ops);
    static std::size_t count(std::span<Op* const> ops) noexcept;
};

struct JsonMap {
    using Map = json::object;
    static json::object& require(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops);
    static json::object& map(JsonSlot& slot) noexcept { return slot.value.get_object(); }
    static json::object& written(Op& op) noexcept { return writtenBy(op).get_object(); }
    static std::string_view key(const json::key_value_pair& entry) noexcept { return entry.key(); }
    static json::value& mapped(json::key_value_pair& entry) noexcept { return entry.value(); }
};

using JsonAppend = AppendFold<JsonSlot, JsonList>;
using JsonMerge = MergeFold<JsonSlot, JsonMap>;

/// A user's function, as the reducer of slots that it is.
struct JsonFunction {
    JsonReducer::Function reduce;
    JsonSlot operator()(const JsonSlot& value, const JsonSlot& written) const {
        return {ownJson(reduce(value.value, written.value)), value.set};
    }
};

template <class Fold>
constexpr Behaviour makeJsonBehaviour() {
    return makeBehaviour<JsonSlot, Fold, JsonAccess>();
}

}  // namespace detail
}  // namespace stategraph
