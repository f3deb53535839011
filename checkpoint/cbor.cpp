#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <cbor.h>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "utf8.hpp"

namespace stategraph {
namespace {

using Type = Decoder::Type;

constexpr std::size_t head_max = 9;

// Encodes the head of an item, or an item that is only a head, with one of libcbor's functions.
template <class Write, class... Value>
void appendHead(std::string& out, Write write, Value... value) {
    std::array<unsigned char, head_max> head;
    const std::size_t size = write(value..., head.data(), head.size());
    out.append(reinterpret_cast<const char*>(head.data()), size);
}

// The bits of the half-precision float that equals `value`, -1 if there is none. Not libcbor's, which rounds.
int halfBits(float value) noexcept {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const std::uint32_t sign = bits >> 16U & 0x8000U;
    const std::uint32_t fraction = bits & 0x7fffffU;
    const int biased = static_cast<int>(bits >> 23U & 0xffU);
    if (biased == 0xff) return fraction == 0 ? static_cast<int>(sign | 0x7c00U) : -1;
    if (biased == 0) return fraction == 0 ? static_cast<int>(sign) : -1;
    const int exponent = biased - 127;
    if (exponent > 15 || exponent < -24) return -1;
    if (exponent >= -14) {
        if ((fraction & 0x1fffU) != 0) return -1;
        return static_cast<int>(sign | static_cast<std::uint32_t>(exponent + 15) << 10U | fraction >> 13U);
    }
    const std::uint32_t whole = fraction | 0x800000U;
    const auto shift = static_cast<unsigned>(-exponent - 1);
    if ((whole & ((1U << shift) - 1U)) != 0) return -1;
    return static_cast<int>(sign | whole >> shift);
}

const char* describe(Type type) noexcept {
    switch (type) {
        case Type::unsigned_integer:
            return "an integer";
        case Type::negative_integer:
            return "a negative integer";
        case Type::bytes:
            return "bytes";
        case Type::text:
            return "text";
        case Type::array:
            return "an array";
        case Type::map:
            return "a map";
        case Type::boolean:
            return "a boolean";
        case Type::null:
            return "null";
        case Type::real:
            return "a real number";
        case Type::end:
            return "the end of the bytes";
    }
    return "something else";
}

[[noreturn]] void failWith(std::string_view expected, std::string_view found) {
    std::string message = "expected ";
    message.append(expected).append(", found ").append(found);
    throw WrongTypeError(std::move(message));
}

// What the callbacks of libcbor's decoder leave behind: the head of one item, and the content of a string.
struct Item {
    std::uint64_t number = 0;
    double real = 0;
    std::string_view data;
};

template <class T>
void onNumber(void* item, T value) {
    static_cast<Item*>(item)->number = value;
}
template <class T>
void onReal(void* item, T value) {
    static_cast<Item*>(item)->real = value;
}
void onString(void* item, cbor_data data, std::size_t size) {
    static_cast<Item*>(item)->data = {reinterpret_cast<const char*>(data), size};
}

// Decoder::peek refuses tags, indefinite lengths and simple values first; their callbacks do nothing.
constexpr cbor_callbacks callbacks{
    .uint8 = onNumber<std::uint8_t>,
    .uint16 = onNumber<std::uint16_t>,
    .uint32 = onNumber<std::uint32_t>,
    .uint64 = onNumber<std::uint64_t>,
    .negint64 = onNumber<std::uint64_t>,
    .negint32 = onNumber<std::uint32_t>,
    .negint16 = onNumber<std::uint16_t>,
    .negint8 = onNumber<std::uint8_t>,
    .byte_string_start = cbor_null_byte_string_start_callback,
    .byte_string = onString,
    .string = onString,
    .string_start = cbor_null_string_start_callback,
    .indef_array_start = cbor_null_indef_array_start_callback,
    .array_start = onNumber<std::size_t>,
    .indef_map_start = cbor_null_indef_map_start_callback,
    .map_start = onNumber<std::size_t>,
    .tag = cbor_null_tag_callback,
    .float2 = onReal<float>,
    .float4 = onReal<float>,
    .float8 = onReal<double>,
    .undefined = cbor_null_undefined_callback,
    .null = cbor_null_null_callback,
    .boolean = onNumber<bool>,
    .indef_break = cbor_null_indef_break_callback,
};

// Reads one item whose type peek() has found. Most heads are one byte with the number in it: those cost no call.
Item take(std::string_view& rest, Type type) {
    Item item;
    const unsigned lead = static_cast<unsigned char>(rest.front());
    const std::size_t info = lead & 0x1fU;
    const bool is_string = type == Type::text || type == Type::bytes;
    if (info < 24 && lead < 0xe0U && (!is_string || info < rest.size())) {
        item.number = info;
        if (is_string) item.data = rest.substr(1, info);
        rest.remove_prefix(is_string ? 1 + info : 1);
        return item;
    }
    const cbor_decoder_result result =
        cbor_stream_decode(reinterpret_cast<cbor_data>(rest.data()), rest.size(), &callbacks, &item);
    if (result.status == CBOR_DECODER_NEDATA)
        failWith(describe(type), "only the beginning of it; the bytes are cut off");
    if (result.status != CBOR_DECODER_FINISHED) failWith(describe(type), "malformed bytes");
    rest.remove_prefix(result.read);
    return item;
}

// An item takes at least one byte, so more of them than bytes is a lie; refused before anybody makes room for them.
std::size_t takeCount(std::string_view& rest, Type type, std::size_t bytes_each) {
    const std::uint64_t count = take(rest, type).number;
    if (count > rest.size() / bytes_each) {
        failWith(describe(type),
                 "a count of " + std::to_string(count) + " with only " + std::to_string(rest.size()) + " bytes left");
    }
    return static_cast<std::size_t>(count);
}

}  // namespace

void Encoder::null() { out_->push_back('\xf6'); }

void Encoder::boolean(bool value) { out_->push_back(value ? '\xf5' : '\xf4'); }

void Encoder::integer(std::int64_t value) {
    if (value >= 0) return unsignedInteger(static_cast<std::uint64_t>(value));
    appendHead(*out_, cbor_encode_negint, ~static_cast<std::uint64_t>(value));
}

void Encoder::unsignedInteger(std::uint64_t value) {
    if (value < 24) return out_->push_back(static_cast<char>(value));  // the commonest numbers cost no call
    appendHead(*out_, cbor_encode_uint, value);
}

void Encoder::real(double value) {
    int half = 0x7e00;
    if (!std::isnan(value)) {
        // The conversion to float is undefined for what is out of its range.
        const bool in_range = std::isinf(value) || std::fabs(value) <= std::numeric_limits<float>::max();
        const float single = in_range ? static_cast<float>(value) : 0.0F;
        if (!in_range || static_cast<double>(single) != value) return appendHead(*out_, cbor_encode_double, value);
        half = halfBits(single);
        if (half < 0) return appendHead(*out_, cbor_encode_single, single);
    }
    const std::array<char, 3> bytes{'\xf9', static_cast<char>(half >> 8), static_cast<char>(half & 0xff)};
    out_->append(bytes.data(), bytes.size());
}

void Encoder::text(std::string_view value) {
    if (!detail::isUtf8(value)) return bytes(value);
    appendHead(*out_, cbor_encode_string_start, value.size());
    out_->append(value);
}

void Encoder::bytes(std::string_view value) {
    appendHead(*out_, cbor_encode_bytestring_start, value.size());
    out_->append(value);
}

void Encoder::array(std::size_t count) { appendHead(*out_, cbor_encode_array_start, count); }

void Encoder::map(std::size_t count) { appendHead(*out_, cbor_encode_map_start, count); }

Decoder::Type Decoder::peek() const {
    if (rest_.empty()) return Type::end;
    const unsigned lead = static_cast<unsigned char>(rest_.front());
    const unsigned info = lead & 0x1fU;
    if (lead < 0xc0U) {
        if (info == 31 && lead >= 0x40U) failWith("a value", "an indefinite length, which this library does not write");
        if (info > 27) failWith("a value", "malformed bytes");
        constexpr std::array<Type, 6> types{
            Type::unsigned_integer, Type::negative_integer, Type::bytes, Type::text, Type::array, Type::map};
        return types[lead >> 5U];
    }
    if (lead < 0xe0U) failWith("a value", "a tag, which this library does not write");
    switch (info) {
        case 20:
        case 21:
            return Type::boolean;
        case 22:
            return Type::null;
        case 25:
        case 26:
        case 27:
            return Type::real;
        default:
            failWith("a value", "a simple value that is not true, false or null");
    }
}

bool Decoder::tryNull() {
    if (peek() != Type::null) return false;
    rest_.remove_prefix(1);
    return true;
}

bool Decoder::boolean() {
    const Type type = peek();
    if (type != Type::boolean) fail("a boolean", type);
    return take(rest_, type).number != 0;
}

std::int64_t Decoder::integer() {
    const Type type = peek();
    if (type != Type::unsigned_integer && type != Type::negative_integer) fail("an integer", type);
    const std::uint64_t number = take(rest_, type).number;
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        failWith("a signed 64-bit integer", "a number out of its range");
    }
    return type == Type::unsigned_integer ? static_cast<std::int64_t>(number) : -1 - static_cast<std::int64_t>(number);
}

std::uint64_t Decoder::unsignedInteger() {
    const Type type = peek();
    if (type != Type::unsigned_integer) fail("an integer that is not negative", type);
    return take(rest_, type).number;
}

double Decoder::real() {
    const Type type = peek();
    if (type == Type::real) return take(rest_, type).real;
    if (type == Type::unsigned_integer) return static_cast<double>(take(rest_, type).number);
    if (type == Type::negative_integer) return -1.0 - static_cast<double>(take(rest_, type).number);
    fail("a number", type);
}

std::string_view Decoder::text() {
    const Type type = peek();
    if (type != Type::text && type != Type::bytes) fail("text", type);
    return take(rest_, type).data;
}

std::size_t Decoder::array() {
    const Type type = peek();
    if (type != Type::array) fail("an array", type);
    return takeCount(rest_, type, 1);
}

std::size_t Decoder::map() {
    const Type type = peek();
    if (type != Type::map) fail("a map", type);
    return takeCount(rest_, type, 2);
}

void Decoder::skip() {
    // Not recursive: hostile bytes do not choose how much stack is used.
    std::array<std::size_t, depth_max> pending;  // items still to pass over, at each level of nesting
    std::size_t level = 0;
    for (;;) {
        const Type type = peek();
        if (type == Type::end) fail("a value", type);
        std::size_t inside = 0;
        if (type == Type::array) {
            inside = array();
        } else if (type == Type::map) {
            inside = 2 * map();
        } else {
            take(rest_, type);
        }
        if (inside > 0) {
            if (level + static_cast<std::size_t>(depth_) >= pending.size()) failDepth();
            pending[level++] = inside;
            continue;
        }
        while (level > 0 && --pending[level - 1] == 0) --level;
        if (level == 0) return;
    }
}

std::string_view Decoder::raw() {
    const std::string_view before = rest_;
    skip();
    return before.substr(0, before.size() - rest_.size());
}

void Decoder::fail(std::string_view expected, Type found) { failWith(expected, describe(found)); }

void Decoder::failDepth() { failWith("at most " + std::to_string(depth_max) + " levels of nesting", "more"); }

}  // namespace stategraph
