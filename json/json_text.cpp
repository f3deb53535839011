#include <stategraph/detail/json_text.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <stategraph/detail/utf8.hpp>

namespace stategraph::detail {
namespace {

namespace json = boost::json;

// Whether serialize() writes JSON for it.
bool isPrintable(const json::value& value) {
    if (const double* const number = value.if_double()) return std::isfinite(*number);
    if (const json::string* const text = value.if_string()) return isUtf8(*text);
    if (const json::array* const list = value.if_array()) return std::ranges::all_of(*list, isPrintable);
    if (const json::object* const object = value.if_object()) {
        return std::ranges::all_of(*object, [](const json::key_value_pair& member) {
            return isUtf8(member.key()) && isPrintable(member.value());
        });
    }
    return true;
}

json::value printable(const json::value& value) {
    if (const double* const number = value.if_double()) return std::isfinite(*number) ? value : json::value();
    if (const json::string* const text = value.if_string()) return json::value(withoutStrayBytes(*text));
    if (const json::array* const list = value.if_array()) {
        json::array shown;
        for (const json::value& each : *list) shown.push_back(printable(each));
        return shown;
    }
    const json::object* const object = value.if_object();
    if (object == nullptr) return value;
    json::object shown;
    for (const json::key_value_pair& member : *object)
        shown[withoutStrayBytes(member.key())] = printable(member.value());
    return shown;
}

}  // namespace

std::string jsonText(const json::value& value) {
    return isPrintable(value) ? json::serialize(value) : json::serialize(printable(value));
}

std::string withoutStrayBytes(std::string_view bytes) {
    if (isUtf8(bytes)) return std::string(bytes);
    std::string out;
    while (!bytes.empty()) {
        std::size_t size = 1;
        while (size <= bytes.size() && size <= 4 && !isUtf8(bytes.substr(0, size))) ++size;
        if (size > bytes.size() || size > 4) {
            out += "\xef\xbf\xbd";
            size = 1;
        } else {
            out += bytes.substr(0, size);
        }
        bytes.remove_prefix(size);
    }
    return out;
}

}  // namespace stategraph::detail
