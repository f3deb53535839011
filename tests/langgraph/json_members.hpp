#pragma once
#include <string>
#include <string_view>

#include <boost/json.hpp>

// Reads descriptions and scenarios, in which most members may be missing.
namespace json_members {

/// The member of an object; null if it is missing or `value` is no object.
inline const boost::json::value& get(const boost::json::value& value, std::string_view name) {
    static const boost::json::value null;
    const boost::json::object* members = value.if_object();
    const boost::json::value* found = members != nullptr ? members->if_contains(name) : nullptr;
    return found != nullptr ? *found : null;
}
const boost::json::value& get(const boost::json::value&& value, std::string_view name) = delete;  // it would dangle

/// A value as a text: a text itself, "" for null, anything else as JSON.
inline std::string text(const boost::json::value& value) {
    if (value.is_null()) return {};
    return value.is_string() ? std::string(value.get_string()) : boost::json::serialize(value);
}

}  // namespace json_members
