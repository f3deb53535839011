#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/value.hpp>

// Reading JSON that others wrote: a member that is missing, null or of another type than expected is as good as none.
namespace stategraph::model::http {

/// Null: there is none.
const boost::json::value* member(const boost::json::object& object, std::string_view name);
const boost::json::object* objectOf(const boost::json::object& object, std::string_view name);
const boost::json::array* arrayOf(const boost::json::object& object, std::string_view name);
std::string_view textOf(const boost::json::object& object, std::string_view name);
std::optional<std::int64_t> integerOf(const boost::json::object& object, std::string_view name);

/// Parses JSON as deep as tools' schemas may be. None: it is no JSON.
std::optional<boost::json::value> parseJsonText(std::string_view text);
/// Of a schema, or of settings. Errors: ModelError that begins with `what`, if it is no JSON object.
boost::json::object parseObject(std::string_view text, std::string_view what);
/// Puts the members of both over those of the body; the request's win, and a null takes the member away. Errors:
/// ModelError if one is neither null nor an object.
void putExtra(boost::json::object& body, const Value& defaults, const Value& own);

}  // namespace stategraph::model::http
