#include <stategraph/detail/json_text.hpp>

#include <algorithm>
#include <cmath>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace stategraph::detail {
namespace {

namespace json = boost::json;

bool isFinite(const json::value& value) {
    if (const double* const number = value.if_double()) return std::isfinite(*number);
    if (const json::array* const list = value.if_array()) return std::ranges::all_of(*list, isFinite);
    if (const json::object* const object = value.if_object())
        return std::ranges::all_of(*object,
                                   [](const json::key_value_pair& member) { return isFinite(member.value()); });
    return true;
}

void clearInfinite(json::value& value) {
    if (const double* const number = value.if_double(); number != nullptr && !std::isfinite(*number)) value = nullptr;
    if (json::array* const list = value.if_array()) std::ranges::for_each(*list, clearInfinite);
    if (json::object* const object = value.if_object()) {
        for (json::key_value_pair& member : *object) clearInfinite(member.value());
    }
}

}  // namespace

std::string jsonText(const json::value& value) {
    if (isFinite(value)) return json::serialize(value);
    json::value shown = value;
    clearInfinite(shown);
    return json::serialize(shown);
}

}  // namespace stategraph::detail
