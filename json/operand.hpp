#pragma once
#include <stategraph/json.hpp>

namespace stategraph::detail {

/// The value of an operation on a JSON channel: the written value, and the channel's name until it is resolved.
struct JsonOperand {
    JsonSlot slot;
    std::string channel;
};

template <>
inline constexpr ValueOps value_ops<JsonOperand> = {
    .type = typeKey<JsonOperand>(),
    .size = sizeof(JsonOperand),
    .alignment = alignof(JsonOperand),
    .in_place = storedInPlace<JsonOperand>(),
    .destroy = [](void* value) noexcept { static_cast<JsonOperand*>(value)->~JsonOperand(); },
    .relocate =
        [](void* to, void* from) noexcept {
            ::new (to) JsonOperand(std::move(*static_cast<JsonOperand*>(from)));
            static_cast<JsonOperand*>(from)->~JsonOperand();
        },
    .copy = [](void* to, const void* from) { ::new (to) JsonOperand(*static_cast<const JsonOperand*>(from)); },
    .encode =
        [](Encoder& out, const void* value) {
            Codec<SharedJson>::encode(out, static_cast<const JsonOperand*>(value)->slot.json);
        },
    .decode =
        [](Decoder& in, void* to) {
            JsonOperand operand{{{}, true}, {}};
            Codec<SharedJson>::decode(in, operand.slot.json);
            ::new (to) JsonOperand(std::move(operand));
        },
    .name = [](const void* value) -> std::string_view { return static_cast<const JsonOperand*>(value)->channel; },
};

/// The behaviours of channels by kind or reducer (folds.cpp, messages.cpp).
extern const Behaviour json_replace;
extern const Behaviour json_append;
extern const Behaviour json_topic;
extern const Behaviour json_merge;
extern const Behaviour json_binary;
extern const Behaviour json_messages;

}  // namespace stategraph::detail
