#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/value.hpp>

// Reads JSON of other programs: a member that is null or of an unexpected type is treated as missing.
namespace stategraph::model::http {

/// Returns null if there is no such member.
const boost::json::value* member(const boost::json::object& object, std::string_view name);
const boost::json::object* objectOf(const boost::json::object& object, std::string_view name);
const boost::json::array* arrayOf(const boost::json::object& object, std::string_view name);
std::string_view textOf(const boost::json::object& object, std::string_view name);
std::optional<std::int64_t> integerOf(const boost::json::object& object, std::string_view name);

/// Parses JSON that is at most as deep as tools' schemas may be. Returns none if it is no JSON.
std::optional<boost::json::value> parseJsonText(std::string_view text);
/// Parses a schema, or settings. Errors: ModelError that begins with `what`, if it is no JSON object.
boost::json::object parseObject(std::string_view text, std::string_view what);
/// Adds the members to the object, replacing existing ones. A null removes the member.
void putMembers(boost::json::object& object, const boost::json::object& members);
/// Does the same, but adds the members of an object to an object that there is.
void mergeMembers(boost::json::object& object, const boost::json::object& members);
/// Adds the members of both to the body, replacing existing ones. The request's own members take precedence, and a null
/// removes the member. Errors: ModelError if one of the values is neither null nor an object.
void putExtra(boost::json::object& body, const Value& defaults, const Value& own);

}  // namespace stategraph::model::http
