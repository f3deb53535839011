#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <boost/json.hpp>

// Compares JSON by meaning: numbers by value, objects without regard to the order of their keys.
namespace json_compare {

namespace json = boost::json;

/// Boost.JSON 1.81 does not round every double correctly: of 3,000,000 random numbers some were up to three
/// representable numbers away from the nearest one.
inline bool sameNumber(const json::value& a, const json::value& b) {
    if (a == b) return true;
    const double x = a.to_number<double>();
    const double y = b.to_number<double>();
    if (x == y) return true;
    if (std::signbit(x) != std::signbit(y) || !std::isfinite(x) || !std::isfinite(y)) return false;
    // Adjacent doubles of one sign are adjacent as integers too.
    return std::abs(std::bit_cast<std::int64_t>(x) - std::bit_cast<std::int64_t>(y)) <= 4;
}

inline bool same(const json::value& a, const json::value& b) {
    if (a.is_number() && b.is_number()) return sameNumber(a, b);
    if (a.kind() != b.kind()) return false;
    if (const json::array* items = a.if_array()) {
        return std::equal(items->begin(), items->end(), b.get_array().begin(), b.get_array().end(), same);
    }
    if (const json::object* object = a.if_object()) {
        return object->size() == b.get_object().size() &&
               std::all_of(object->begin(), object->end(), [&](const auto& entry) {
                   const json::value* other = b.get_object().if_contains(entry.key());
                   return other != nullptr && same(entry.value(), *other);
               });
    }
    return a == b;
}

/// Whether a value parsed from a text is a possible beginning of the value of a longer text: strings and containers
/// grow at their ends, numbers are replaced, and everything before the end stays.
inline bool refines(const json::value& before, const json::value& after) {
    if (before.is_number() && after.is_number()) return true;
    if (before.kind() != after.kind()) return false;
    const auto last = [](auto at, const auto& all) { return std::next(at) == all.end(); };
    if (const json::string* text = before.if_string())
        return std::string_view(after.get_string()).starts_with(std::string_view(*text));
    if (const json::array* items = before.if_array()) {
        const json::array& more = after.get_array();
        if (items->size() > more.size()) return false;
        auto other = more.begin();
        for (auto item = items->begin(); item != items->end(); ++item, ++other) {
            if (last(item, *items) ? !refines(*item, *other) : *item != *other) return false;
        }
        return true;
    }
    if (const json::object* object = before.if_object()) {
        for (auto entry = object->begin(); entry != object->end(); ++entry) {
            const json::value* other = after.get_object().if_contains(entry->key());
            if (other == nullptr) return false;
            if (last(entry, *object) ? !refines(entry->value(), *other) : entry->value() != *other) return false;
        }
        return true;
    }
    return before == after;
}

}  // namespace json_compare
