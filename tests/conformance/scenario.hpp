#pragma once
#include <string>
#include <vector>

#include <boost/json.hpp>

namespace conformance {

namespace json = boost::json;

/// The scenarios of files (.json: one, .ndjson: one a line) and of folders (their .json files), in order.
/// Errors: std::runtime_error naming the file.
std::vector<json::object> readScenarios(const std::vector<std::string>& paths);

/// A member of an object, null if there is none.
const json::value& get(const json::object& object, std::string_view key);
std::string text(const json::value& value);
/// The names in a list; none if there is no list.
std::vector<std::string> names(const json::value& list);

}  // namespace conformance
