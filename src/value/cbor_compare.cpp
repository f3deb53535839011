#include "src/value/cbor_compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <stategraph/encoding.hpp>

#include "src/value/bytes.hpp"

namespace stategraph::stores {
namespace {

using Type = Decoder::Type;

constexpr double two_to_64 = 18446744073709551616.0;

struct Number {
    bool is_real = false;
    bool is_negative = false;
    std::uint64_t magnitude = 0;  // for a negative whole number n, it is -1 - n, as in CBOR
    double real = 0;
};

bool isNumber(Type type) {
    return type == Type::unsigned_integer || type == Type::negative_integer || type == Type::real;
}
bool isText(Type type) { return type == Type::text || type == Type::bytes; }

Number readNumber(std::string_view item, Type type) {
    if (type == Type::real)
        return {.is_real = true, .is_negative = false, .magnitude = 0, .real = Decoder(item).real()};
    // The number is read from the head, because a negative number may be less than any std::int64_t.
    return {.is_real = false,
            .is_negative = type == Type::negative_integer,
            .magnitude = detail::headNumber(item),
            .real = 0};
}

std::partial_ordering compareWhole(const Number& a, const Number& b) {
    if (a.is_negative != b.is_negative)
        return a.is_negative ? std::partial_ordering::less : std::partial_ordering::greater;
    return a.is_negative ? b.magnitude <=> a.magnitude : a.magnitude <=> b.magnitude;
}

// Compares a whole number with a double without converting it, because that would round it.
std::partial_ordering compareMixed(const Number& whole, double real) {
    if (std::isnan(real)) return std::partial_ordering::unordered;
    if (real >= two_to_64) return std::partial_ordering::less;
    if (real < -two_to_64) return std::partial_ordering::greater;
    const double cut = std::trunc(real);
    Number other;
    other.is_negative = cut < 0;
    if (!other.is_negative) {
        other.magnitude = static_cast<std::uint64_t>(cut);
    } else {
        other.magnitude =
            -cut >= two_to_64 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(-cut) - 1;
    }
    const auto order = compareWhole(whole, other);
    return order != std::partial_ordering::equivalent ? order : cut <=> real;
}

std::partial_ordering compareNumbers(const Number& a, const Number& b) {
    if (a.is_real && b.is_real) return a.real <=> b.real;
    if (!a.is_real && !b.is_real) return compareWhole(a, b);
    if (!a.is_real) return compareMixed(a, b.real);
    const auto order = compareMixed(b, a.real);
    if (order == std::partial_ordering::less) return std::partial_ordering::greater;
    return order == std::partial_ordering::greater ? std::partial_ordering::less : order;
}

bool equalArrays(std::string_view a, std::string_view b) {
    Decoder left(a);
    Decoder right(b);
    std::size_t count = left.array();
    if (right.array() != count) return false;
    for (; count > 0; --count) {
        if (!equalItems(left.raw(), right.raw())) return false;
    }
    return true;
}

// Returns the value in `map` under the key that is this item. Maps that were written in the same order cost one pass.
std::optional<std::string_view> findKey(std::string_view map, std::string_view key) {
    Decoder in(map);
    for (std::size_t count = in.map(); count > 0; --count) {
        const std::string_view other = in.raw();
        const std::string_view value = in.raw();
        if (other == key) return value;
    }
    return std::nullopt;
}

using Entry = std::pair<std::string_view, std::string_view>;

// Returns the entries by key.
std::vector<Entry> sortedEntries(std::string_view map) {
    Decoder in(map);
    std::vector<Entry> entries(in.map());
    for (auto& [key, value] : entries) {
        key = in.raw();
        value = in.raw();
    }
    std::ranges::stable_sort(entries, {}, &Entry::first);
    return entries;
}

std::optional<std::string_view> findKey(const std::vector<Entry>& sorted, std::string_view key) {
    const auto found = std::ranges::lower_bound(sorted, key, {}, &Entry::first);
    if (found == sorted.end() || found->first != key) return std::nullopt;
    return found->second;
}

bool equalMaps(std::string_view a, std::string_view b) {
    constexpr std::size_t few = 16;  // for these, sorting costs more than it saves
    Decoder left(a);
    Decoder right(b);
    const std::size_t count = left.map();
    if (right.map() != count) return false;
    bool in_step = true;
    std::vector<Entry> sorted;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string_view key = left.raw();
        const std::string_view value = left.raw();
        std::optional<std::string_view> other;
        if (in_step) {
            in_step = right.raw() == key;
            if (in_step) other = right.raw();
        }
        if (!in_step) {
            if (count > few && sorted.empty()) sorted = sortedEntries(b);
            other = count > few ? findKey(sorted, key) : findKey(b, key);
        }
        if (!other || !equalItems(value, *other)) return false;
    }
    return true;
}

}  // namespace

std::partial_ordering compareItems(std::string_view a, std::string_view b) {
    const Type left = Decoder(a).peek();
    const Type right = Decoder(b).peek();
    if (isNumber(left) && isNumber(right)) return compareNumbers(readNumber(a, left), readNumber(b, right));
    if (isText(left) && left == right) return Decoder(a).text() <=> Decoder(b).text();
    return std::partial_ordering::unordered;
}

bool equalItems(std::string_view a, std::string_view b) {
    const Type left = Decoder(a).peek();
    const Type right = Decoder(b).peek();
    if (isNumber(left) && isNumber(right)) return compareItems(a, b) == std::partial_ordering::equivalent;
    if (left != right) return false;
    if (a == b) return true;
    switch (left) {
        case Type::array:
            return equalArrays(a, b);
        case Type::map:
            return equalMaps(a, b);
        case Type::text:
        case Type::bytes:
            return Decoder(a).text() == Decoder(b).text();
        case Type::boolean:
            return Decoder(a).boolean() == Decoder(b).boolean();
        default:
            return true;
    }
}

std::optional<std::string_view> findEntry(std::string_view item, std::string_view name) {
    Decoder in(item);
    if (in.peek() != Type::map) return std::nullopt;
    for (std::size_t count = in.map(); count > 0; --count) {
        const bool is_it = in.peek() == Type::text ? in.text() == name : (in.skip(), false);
        const std::string_view value = in.raw();
        if (is_it) return value;
    }
    return std::nullopt;
}

}  // namespace stategraph::stores
