#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <stategraph/detail/table.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "src/value/bytes.hpp"

// Reading and writing of items share one file, longer than other files, because their heads are inlined into both.
namespace stategraph {
namespace {

using Type = Decoder::Type;

constexpr std::size_t head_max = 9;

// The types of items as the highest three bits of their heads.
enum Major : unsigned {
    is_unsigned = 0x00,
    is_negative = 0x20,
    is_bytes = 0x40,
    is_text = 0x60,
    is_array = 0x80,
    is_map = 0xa0
};

// Appends `lead` and the lowest `size` bytes of `number`, the highest of them first.
[[gnu::noinline]] void appendItem(std::string& out, unsigned lead, std::uint64_t number, std::size_t size) {
    std::array<char, head_max> item;
    item[0] = static_cast<char>(lead);
    number <<= 64 - 8 * size;
    if constexpr (std::endian::native == std::endian::little) number = __builtin_bswap64(number);
    std::memcpy(item.data() + 1, &number, sizeof number);
    out.append(item.data(), 1 + size);
}

[[gnu::noinline]] void appendLongHead(std::string& out, Major major, std::uint64_t number) {
    const std::size_t size = detail::headSize(number) - 1;
    appendItem(out, major | (23U + static_cast<unsigned>(std::bit_width(size))), number, size);
}

// The most common head, of a small number or a short length, is one byte and costs no call.
[[gnu::always_inline]] inline void appendHead(std::string& out, Major major, std::uint64_t number) {
    if (number < 24) return out.push_back(static_cast<char>(major | number));
    appendLongHead(out, major, number);
}

// Appends any text. It is a function of its own so that callers with short texts save and restore fewer registers.
[[gnu::noinline]] void appendText(std::string& out, std::string_view text) {
    appendHead(out, detail::isUtf8(text) ? is_text : is_bytes, text.size());
    out.append(text);
}

// Copies a text by words, with reads and writes that overlap. Returns false if it is not all ASCII.
[[gnu::always_inline]] inline bool copyIfAscii(std::string_view from, char* to) noexcept {
    const auto copy = [&]<class Word>(Word, std::size_t at) {
        Word word;
        std::memcpy(&word, from.data() + at, sizeof word);
        std::memcpy(to + at, &word, sizeof word);
        return static_cast<std::uint64_t>(word);
    };
    const std::size_t size = from.size();
    std::uint64_t all = 0;
    if (size >= 8) {
        for (std::size_t at = 0; at + 8 < size; at += 8) all |= copy(std::uint64_t(), at);
        all |= copy(std::uint64_t(), size - 8);
    } else if (size >= 4) {
        all = copy(std::uint32_t(), 0) | copy(std::uint32_t(), size - 4);
    } else if (size > 0) {
        all = copy(std::uint8_t(), 0) | copy(std::uint8_t(), size / 2) | copy(std::uint8_t(), size - 1);
    }
    return (all & 0x8080808080808080U) == 0;
}

// Returns the bits of the half-precision float that equals `value`, or -1 if there is none.
int halfBits(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
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

// Returns the value of the half-precision float with these bits.
double fromHalf(unsigned bits) noexcept {
    const unsigned exponent = bits >> 10U & 0x1fU;
    const unsigned fraction = bits & 0x3ffU;
    double size = fraction * 0x1p-24;
    if (exponent == 31) {
        size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent > 0) {
        size = std::bit_cast<float>((exponent + 112U) << 23U | fraction << 13U);
    }
    return (bits & 0x8000U) != 0 ? -size : size;
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

[[noreturn]] void failCut(Type type) { failWith(describe(type), "only the beginning of it; the bytes are cut off"); }

// Returns the number in a head of more than one byte.
std::uint64_t takeLongNumber(std::string_view& rest, Type type) {
    const std::size_t head = 1 + (std::size_t{1} << ((static_cast<unsigned char>(rest.front()) & 0x1fU) - 24));
    if (rest.size() < head) failCut(type);
    // Most such heads are sizes of short texts.
    const std::uint64_t number =
        head == 2 ? static_cast<unsigned char>(rest[1]) : detail::loadBigEndian(rest.substr(1, head - 1));
    rest.remove_prefix(head);
    return number;
}

// Reads the head of an item whose type peek() has found. Returns its number, or the bits of a real number.
inline std::uint64_t takeNumber(std::string_view& rest, Type type) {
    const unsigned info = static_cast<unsigned char>(rest.front()) & 0x1fU;
    if (info >= 24) return takeLongNumber(rest, type);
    rest.remove_prefix(1);
    return info;
}

// Does the same for a text or bytes, and returns the content.
inline std::string_view takeString(std::string_view& rest, Type type) {
    std::string_view after = rest;
    const std::uint64_t size = takeNumber(after, type);
    if (size > after.size()) failCut(type);
    rest = after.substr(static_cast<std::size_t>(size));
    return after.substr(0, static_cast<std::size_t>(size));
}

// Skips an item without inner items.
inline void takeItem(std::string_view& rest, Type type) {
    if (type == Type::text || type == Type::bytes) {
        takeString(rest, type);
    } else {
        takeNumber(rest, type);
    }
}

double takeReal(std::string_view& rest) {
    const unsigned lead = static_cast<unsigned char>(rest.front());
    const std::uint64_t bits = takeNumber(rest, Type::real);
    if (lead == 0xf9) return fromHalf(static_cast<unsigned>(bits));
    if (lead == 0xfa) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    return std::bit_cast<double>(bits);
}

// Returns the types by an item's first byte. It is `end` for a byte that this library does not write.
constexpr std::array<Type, 256> makeTypes() {
    constexpr std::array<Type, 6> majors{
        Type::unsigned_integer, Type::negative_integer, Type::bytes, Type::text, Type::array, Type::map};
    std::array<Type, 256> types{};
    for (std::size_t lead = 0; lead < types.size(); ++lead) {
        types[lead] = lead < 0xc0 && (lead & 0x1fU) <= 27 ? majors[lead >> 5U] : Type::end;
    }
    types[0xf4] = types[0xf5] = Type::boolean;
    types[0xf6] = Type::null;
    types[0xf9] = types[0xfa] = types[0xfb] = Type::real;
    return types;
}
constexpr std::array<Type, 256> types = makeTypes();

[[noreturn]] void failLead(unsigned lead) {
    if (lead >= 0xe0U) failWith("a value", "a simple value that is not true, false or null");
    if (lead >= 0xc0U) failWith("a value", "a tag, which this library does not write");
    if ((lead & 0x1fU) == 31 && lead >= 0x40U)
        failWith("a value", "an indefinite length, which this library does not write");
    failWith("a value", "malformed bytes");
}

inline Type typeOf(std::string_view rest) {
    if (rest.empty()) return Type::end;
    const unsigned lead = static_cast<unsigned char>(rest.front());
    const Type type = types[lead];
    if (type == Type::end) [[unlikely]]
        failLead(lead);
    return type;
}

// Returns the sizes, by its first byte, of an item without inner items whose size that byte determines; 0 for others.
constexpr std::array<std::uint8_t, 256> makeSizes() {
    std::array<std::uint8_t, 256> sizes{};
    for (std::size_t lead = 0; lead < 0x80; ++lead) {
        const std::size_t info = lead & 0x1fU;
        const bool is_string = lead >= is_bytes;
        if (info < 24) sizes[lead] = static_cast<std::uint8_t>(is_string ? 1 + info : 1);
        if (info >= 24 && info <= 27 && !is_string) sizes[lead] = static_cast<std::uint8_t>(1U + (1U << (info - 24)));
    }
    sizes[0xf4] = sizes[0xf5] = sizes[0xf6] = 1;
    sizes[0xf9] = 3;
    sizes[0xfa] = 5;
    sizes[0xfb] = 9;
    return sizes;
}
constexpr std::array<std::uint8_t, 256> sizes = makeSizes();

// Skips such an item. Returns false, and skips nothing, for another one and for one that is cut off.
[[gnu::always_inline]] inline bool skipSmall(std::string_view& rest) noexcept {
    if (rest.empty()) return false;
    const std::size_t size = sizes[static_cast<unsigned char>(rest.front())];
    if (size == 0 || size > rest.size()) return false;
    rest.remove_prefix(size);
    return true;
}

// An item has at least one byte, so a count above the number of bytes is wrong. It is refused before memory is
// reserved.
inline std::size_t takeCount(std::string_view& rest, Type type, std::size_t bytes_each) {
    const std::uint64_t count = takeNumber(rest, type);
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
    const bool is_below_0 = value < 0;
    const auto number = static_cast<std::uint64_t>(value);
    appendHead(*out_, is_below_0 ? is_negative : is_unsigned, is_below_0 ? ~number : number);
}

void Encoder::unsignedInteger(std::uint64_t value) { appendHead(*out_, is_unsigned, value); }

void Encoder::real(double value) {
    int half = 0x7e00;
    if (!std::isnan(value)) {
        // The conversion to float is undefined for a value outside of its range.
        const bool in_range = std::isinf(value) || std::fabs(value) <= std::numeric_limits<float>::max();
        const float single = in_range ? static_cast<float>(value) : 0.0F;
        if (!in_range || static_cast<double>(single) != value) {
            return appendItem(*out_, 0xfb, std::bit_cast<std::uint64_t>(value), 8);
        }
        half = halfBits(single);
        if (half < 0) return appendItem(*out_, 0xfa, std::bit_cast<std::uint32_t>(single), 4);
    }
    appendItem(*out_, 0xf9, static_cast<std::uint64_t>(half), 2);
}

void Encoder::text(std::string_view value) {
    constexpr std::size_t short_max = 64;
    if (value.size() <= short_max) {  // the most common case: head and text are appended as one piece
        std::array<char, 2 + short_max> item;
        const std::size_t head = value.size() < 24 ? 1 : 2;
        item[0] = static_cast<char>(head == 1 ? is_text | value.size() : is_text | 24U);
        item[1] = static_cast<char>(value.size());
        if (copyIfAscii(value, item.data() + head)) {
            out_->append(item.data(), head + value.size());
            return;
        }
    }
    appendText(*out_, value);
}

void Encoder::bytes(std::string_view value) {
    appendHead(*out_, is_bytes, value.size());
    out_->append(value);
}

void Encoder::array(std::size_t count) { appendHead(*out_, is_array, count); }

void Encoder::map(std::size_t count) { appendHead(*out_, is_map, count); }

Decoder::Type Decoder::peek() const { return typeOf(rest_); }

bool Decoder::tryNull() {
    if (typeOf(rest_) != Type::null) return false;
    rest_.remove_prefix(1);
    return true;
}

bool Decoder::boolean() {
    const Type type = typeOf(rest_);
    if (type != Type::boolean) fail("a boolean", type);
    return takeNumber(rest_, type) == 21;
}

std::int64_t Decoder::integer() {
    const Type type = typeOf(rest_);
    std::uint64_t number = 0;
    bool is_negative = type == Type::negative_integer;
    if (type == Type::unsigned_integer || is_negative) {
        number = takeNumber(rest_, type);
    } else if (!tryIntegral(number, is_negative)) {
        fail("an integer", type);
    }
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        failWith("a signed 64-bit integer", "a number out of its range");
    }
    return is_negative ? -1 - static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
}

std::uint64_t Decoder::unsignedInteger() {
    const Type type = typeOf(rest_);
    if (type == Type::unsigned_integer) return takeNumber(rest_, type);
    std::uint64_t number = 0;
    bool is_negative = false;
    if (!tryIntegral(number, is_negative)) fail("an integer that is not negative", type);
    if (is_negative) failWith("an integer that is not negative", "a negative one");
    return number;
}

double Decoder::real() {
    const Type type = typeOf(rest_);
    if (type == Type::real) return takeReal(rest_);
    if (type == Type::unsigned_integer) return static_cast<double>(takeNumber(rest_, type));
    if (type == Type::negative_integer) return -1.0 - static_cast<double>(takeNumber(rest_, type));
    fail("a number", type);
}

std::string_view Decoder::longText() {
    const Type type = typeOf(rest_);
    if (type != Type::text && type != Type::bytes) fail("text", type);
    return takeString(rest_, type);
}

std::size_t Decoder::array() {
    const Type type = typeOf(rest_);
    if (type != Type::array) fail("an array", type);
    return takeCount(rest_, type, 1);
}

std::size_t Decoder::map() {
    const Type type = typeOf(rest_);
    if (type != Type::map) fail("a map", type);
    return takeCount(rest_, type, 2);
}

void Decoder::skip() {
    if (skipSmall(rest_)) return;
    if (const Type single = typeOf(rest_); single != Type::array && single != Type::map && single != Type::end)
        return takeItem(rest_, single);
    // Not recursive, so that hostile bytes do not choose how much stack is used.
    std::array<std::size_t, depth_max> pending;  // items still to skip, at each level of nesting
    std::size_t level = 0;
    std::string_view rest = rest_;
    for (;;) {
        std::size_t inside = 0;
        if (!skipSmall(rest)) {
            const Type type = typeOf(rest);
            if (type == Type::end) fail("a value", type);
            if (type == Type::array) {
                inside = takeCount(rest, type, 1);
            } else if (type == Type::map) {
                inside = 2 * takeCount(rest, type, 2);
            } else {
                takeItem(rest, type);
            }
        }
        if (inside > 0) {
            if (level + static_cast<std::size_t>(depth_) >= pending.size()) failDepth();
            pending[level++] = inside;
            continue;
        }
        while (level > 0 && --pending[level - 1] == 0) --level;
        if (level == 0) break;
    }
    rest_ = rest;
}

std::string_view Decoder::raw() {
    const std::string_view before = rest_;
    skip();
    return before.substr(0, before.size() - rest_.size());
}

namespace detail {

bool isDeeperThan(std::string_view cbor, int levels) {
    std::vector<std::size_t> pending;  // items still to skip, at each level of nesting
    while (!cbor.empty()) {
        if (skipSmall(cbor)) {
            while (!pending.empty() && --pending.back() == 0) pending.pop_back();
            continue;
        }
        const Type type = typeOf(cbor);
        std::size_t inside = 0;
        if (type == Type::array || type == Type::map) {
            inside = type == Type::array ? takeCount(cbor, type, 1) : 2 * takeCount(cbor, type, 2);
            if (pending.size() == static_cast<std::size_t>(levels)) return true;
        } else {
            takeItem(cbor, type);
        }
        if (inside > 0) {
            pending.push_back(inside);
            continue;
        }
        while (!pending.empty() && --pending.back() == 0) pending.pop_back();
    }
    return false;
}

std::string tooDeepText() {
    return "nested deeper than " + std::to_string(value_depth_max) +
           " levels of arrays and maps, which is more than can be stored; make it flatter: a list whose items name "
           "each "
           "other by index or key";
}

}  // namespace detail

void Decoder::fail(std::string_view expected, Type found) { failWith(expected, describe(found)); }

void Decoder::failDepth() { failWith("at most " + std::to_string(depth_max) + " levels of nesting", "more"); }

}  // namespace stategraph
