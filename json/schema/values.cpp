#include "json/schema/values.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "json/schema/keywords.hpp"
#include "json/schema/rules.hpp"

namespace stategraph::schema {

namespace json = boost::json;

namespace {

int sign(auto a, auto b) { return a < b ? -1 : a > b ? 1 : 0; }

/// Has 64 bits for digits or more, so that every integer and every double is exact.
long double exact(const json::value& number) {
    if (const std::int64_t* const whole = number.if_int64()) return static_cast<long double>(*whole);
    if (const std::uint64_t* const whole = number.if_uint64()) return static_cast<long double>(*whole);
    return static_cast<long double>(number.get_double());
}

std::size_t hashOf(const json::value& value) {
    constexpr std::size_t factor = 1'099'511'628'211U;
    switch (value.kind()) {
        case json::kind::null:
            return 1;
        case json::kind::bool_:
            return value.get_bool() ? 3 : 2;
        case json::kind::int64:
        case json::kind::uint64:
        case json::kind::double_:
            return std::hash<double>{}(value.to_number<double>());
        case json::kind::string:
            return std::hash<std::string_view>{}(textOf(value));
        case json::kind::array: {
            std::size_t hash = 5;
            for (const json::value& each : value.get_array()) hash = hash * factor + hashOf(each);
            return hash;
        }
        case json::kind::object: {
            std::size_t hash = 7;
            for (const auto& member : value.get_object()) {
                const std::string_view name(member.key().data(), member.key().size());
                hash += std::hash<std::string_view>{}(name)*factor ^ hashOf(member.value());
            }
            return hash;
        }
    }
    return 0;
}

}  // namespace

std::uint64_t typesOf(const json::value& value) noexcept {
    switch (value.kind()) {
        case json::kind::null:
            return null_type;
        case json::kind::bool_:
            return boolean_type;
        case json::kind::int64:
        case json::kind::uint64:
            return number_type | integer_type;
        case json::kind::double_: {
            const double real = value.get_double();
            return number_type | (std::isfinite(real) && real == std::trunc(real) ? integer_type : std::uint64_t{0});
        }
        case json::kind::string:
            return string_type;
        case json::kind::array:
            return array_type;
        case json::kind::object:
            return object_type;
    }
    return 0;
}

std::optional<int> compareNumbers(const json::value& a, const json::value& b) noexcept {
    static_assert(std::numeric_limits<long double>::digits >= 64 || sizeof(long double) == sizeof(double));
    const long double x = exact(a);
    const long double y = exact(b);
    if (std::isnan(x) || std::isnan(y)) return {};
    if (a.is_int64() && b.is_int64()) return sign(a.get_int64(), b.get_int64());
    if (a.is_uint64() && b.is_uint64()) return sign(a.get_uint64(), b.get_uint64());
    return sign(x, y);
}

bool isMultiple(const json::value& number, const json::value& divisor) noexcept {
    if ((typesOf(divisor) & integer_type) != 0 && number.is_int64()) {
        const long double whole = exact(divisor);
        if (whole <= static_cast<long double>(std::numeric_limits<std::int64_t>::max()))
            return number.get_int64() % static_cast<std::int64_t>(whole) == 0;
    }
    const double times = number.to_number<double>() / divisor.to_number<double>();
    // What lies in between is as small as the error of the division.
    return !std::isfinite(times) ||
           std::abs(times - std::round(times)) <= std::abs(times) * 4 * std::numeric_limits<double>::epsilon();
}

bool areEqual(const json::value& a, const json::value& b, Work& work) {
    work.take(1);
    if (a.is_number() && b.is_number()) return compareNumbers(a, b) == 0;
    if (a.kind() != b.kind()) return false;
    if (const json::string* const text = a.if_string()) {
        if (text->size() != b.get_string().size()) return false;
        work.take(text->size() / bytes_of_work);
        return *text == b.get_string();
    }
    if (const json::array* const list = a.if_array()) {
        return std::equal(list->begin(), list->end(), b.get_array().begin(), b.get_array().end(),
                          [&](const json::value& x, const json::value& y) { return areEqual(x, y, work); });
    }
    if (const json::object* const object = a.if_object()) {
        const json::object& other = b.get_object();
        return object->size() == other.size() && std::ranges::all_of(*object, [&](const auto& member) {
                   const json::value* const found = other.if_contains(member.key());
                   return found != nullptr && areEqual(member.value(), *found, work);
               });
    }
    return a == b;
}

std::optional<std::pair<std::size_t, std::size_t>> equalPair(const json::array& items, Work& work) {
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (const json::value& each : items) order.emplace_back(hashOf(each), order.size());
    std::ranges::sort(order);
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (std::size_t k = i + 1; k < order.size() && order[k].first == order[i].first; ++k) {
            if (areEqual(items[order[i].second], items[order[k].second], work))
                return std::pair(order[i].second, order[k].second);
        }
    }
    return {};
}

std::size_t charactersIn(std::string_view text) noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace stategraph::schema
