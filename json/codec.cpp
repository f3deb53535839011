#include <algorithm>
#include <array>
#include <utility>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/detail/table.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "json/crowded_object.hpp"
#include "json/json_node.hpp"
#include "json/short_json.hpp"
#include "src/value/value_bytes.hpp"

namespace stategraph {
namespace {

namespace json = boost::json;
using Type = Decoder::Type;

// A wrong count from hostile bytes must not reserve much more memory than the bytes themselves use.
constexpr std::size_t reserve_max = 1024;

std::string_view view(json::string_view text) { return {text.data(), text.size()}; }

// Deterministic encoding orders byte strings (keys that are not UTF-8) before text, shorter before longer, and then by
// bytes.
bool encodesBefore(const json::key_value_pair* a, const json::key_value_pair* b) {
    const std::string_view x = view(a->key());
    const std::string_view y = view(b->key());
    const bool x_is_text = detail::isUtf8(x);
    const bool y_is_text = detail::isUtf8(y);
    if (x_is_text != y_is_text) return y_is_text;
    return detail::storedBefore(x, y);
}

}  // namespace

namespace detail {
namespace {

void encodeArray(Encoder& encoder, const json::array& value, int level);
void encodeObject(Encoder& encoder, const json::object& value, int level);

}  // namespace

void checkJsonLevel(int level) {
    if (level > Decoder::depth_max) throw WrongTypeError("the JSON value is " + tooDeepText());
}

void encodeJson(Encoder& encoder, const json::value& value, int level) {
    switch (value.kind()) {
        case json::kind::null:
            return encoder.null();
        case json::kind::bool_:
            return encoder.boolean(value.get_bool());
        case json::kind::int64:
            return encoder.integer(value.get_int64());
        case json::kind::uint64:
            return encoder.unsignedInteger(value.get_uint64());
        case json::kind::double_:
            return encoder.real(value.get_double());
        case json::kind::string:
            return encoder.text(view(value.get_string()));
        case json::kind::array:
            return encodeArray(encoder, value.get_array(), level);
        case json::kind::object:
            return encodeObject(encoder, value.get_object(), level);
    }
}

namespace {

void encodeArray(Encoder& encoder, const json::array& value, int level) {
    checkJsonLevel(level);
    encoder.array(value.size());
    for (const json::value& item : value) encodeJson(encoder, item, level + 1);
}

void encodeObject(Encoder& encoder, const json::object& value, int level) {
    checkJsonLevel(level);
    std::vector<const json::key_value_pair*> entries;
    entries.reserve(value.size());
    for (const auto& entry : value) entries.push_back(&entry);
    std::sort(entries.begin(), entries.end(), encodesBefore);
    encoder.map(entries.size());
    for (const auto* entry : entries) {
        encoder.text(view(entry->key()));
        encodeJson(encoder, entry->value(), level + 1);
    }
}

}  // namespace
}  // namespace detail

void Codec<json::string>::encode(Encoder& encoder, const json::string& value) { encoder.text(view(value)); }

void Codec<json::string>::decode(Decoder& decoder, json::string& value) {
    const std::string_view text = decoder.text();
    value.assign(text.data(), text.size());
}

void Codec<json::array>::encode(Encoder& encoder, const json::array& value) { detail::encodeArray(encoder, value, 1); }

void Codec<json::array>::decode(Decoder& decoder, json::array& value) {
    const Decoder::Nesting nesting(decoder);
    value.clear();
    const std::size_t count = decoder.array();
    value.reserve(std::min(count, reserve_max));
    for (std::size_t i = 0; i < count; ++i) Codec<json::value>::decode(decoder, value.emplace_back(nullptr));
}

void Codec<json::object>::encode(Encoder& encoder, const json::object& value) {
    detail::encodeObject(encoder, value, 1);
}

void Codec<json::object>::decode(Decoder& decoder, json::object& value) {
    std::size_t left = 0;
    const Decoder::Nesting nesting(decoder, left);
    value.clear();
    left = decoder.map();
    value.reserve(detail::capacityFor(std::min(left, reserve_max)));
    std::string other;
    for (; left > 0; --left) {
        const Type type = decoder.peek();
        std::string_view key;
        if (type == Type::text || type == Type::bytes) {
            key = decoder.text();
        } else {
            other = cborToJson(decoder.raw());
            key = other;
        }
        const auto [at, is_new] = value.emplace(json::string_view(key.data(), key.size()), nullptr);
        if (is_new) {
            Codec<json::value>::decode(decoder, at->value());
        } else {
            detail::skipRepeated(decoder);
        }
    }
}

void Codec<json::value>::encode(Encoder& encoder, const json::value& value) { detail::encodeJson(encoder, value, 1); }

void Codec<json::value>::decode(Decoder& decoder, json::value& value) {
    switch (decoder.peek()) {
        case Type::unsigned_integer: {
            const std::uint64_t number = decoder.unsignedInteger();
            if (number <= static_cast<std::uint64_t>(INT64_MAX)) {
                value = static_cast<std::int64_t>(number);
            } else {
                value = number;
            }
            return;
        }
        case Type::negative_integer:
            value = decoder.integer();
            return;
        case Type::bytes:
        case Type::text:
            return Codec<json::string>::decode(decoder, value.emplace_string());
        case Type::array:
            return Codec<json::array>::decode(decoder, value.emplace_array());
        case Type::map:
            return Codec<json::object>::decode(decoder, value.emplace_object());
        case Type::boolean:
            value = decoder.boolean();
            return;
        case Type::null:
            decoder.tryNull();
            value = nullptr;
            return;
        case Type::real:
            value = decoder.real();
            return;
        case Type::end:
            Decoder::fail("a value", Type::end);
    }
}

namespace {

// Encodes what readAllMembers() has made. Of equal members, the first is the first here too.
void encodeAllMembers(Encoder& encoder, const json::value& value, int level) {
    const json::array* const parts = value.if_array();
    if (parts == nullptr) return detail::encodeJson(encoder, value, level);
    detail::checkJsonLevel(level);
    if (!parts->front().get_bool()) {
        encoder.array(parts->size() - 1);
        for (std::size_t i = 1; i < parts->size(); ++i) encodeAllMembers(encoder, (*parts)[i], level + 1);
        return;
    }
    std::vector<const json::value*> members;  // their names, each before its value
    for (std::size_t i = 1; i < parts->size(); i += 2) members.push_back(&(*parts)[i]);
    std::stable_sort(members.begin(), members.end(), [](const json::value* a, const json::value* b) {
        return detail::storedBefore(view(a->get_string()), view(b->get_string()));
    });
    encoder.map(members.size());
    for (const json::value* const name : members) {
        encoder.text(view(name->get_string()));
        encodeAllMembers(encoder, name[1], level + 1);
    }
}

Value withAllMembers(std::string_view text) {
    json::monotonic_resource memory;
    const detail::JsonRead read = detail::readAllMembers(text, value_depth_max, &memory);
    std::string cbor;
    Encoder encoder(cbor);
    encodeAllMembers(encoder, read.value, 1);
    return detail::ValueBytes::give(std::move(cbor));
}

}  // namespace

Value fromJson(const json::value& json) { return json; }

json::value toJsonValue(const Value& value) { return value.as<json::value>(); }

Value parseJson(std::string_view text) {
    std::string cbor;
    if (detail::encodeShortJson(text, cbor)) return detail::ValueBytes::give(std::move(cbor));
    // The parsed value exists only until it is encoded, so its memory is allocated in one piece; for short texts, it is
    // here.
    std::array<unsigned char, 1024> values;
    json::monotonic_resource memory(values.data(), values.size());
    const detail::JsonRead read = detail::readJson(text, value_depth_max, &memory);
    if (read.error) {
        throw InvalidArgumentError("not JSON at byte " + std::to_string(read.at) + " of " +
                                   std::to_string(text.size()) + ": " + read.error.message());
    }
    return read.hasRepeatedMember() ? withAllMembers(text) : fromJson(read.value);
}

namespace detail {

json::value ownJson(json::value value) {
    const json::storage_ptr common;
    if (value.storage().get() == common.get()) return value;
    return json::value(value, common);
}

}  // namespace detail
}  // namespace stategraph
