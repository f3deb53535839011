#pragma once
#include <string>
#include <vector>

#include <boost/json.hpp>

namespace conformance {

namespace json = boost::json;

/// Reads the scenarios of files (.json has one, .ndjson one in each line) and of folders (their .json files), in order.
/// Errors: std::runtime_error naming the file.
std::vector<json::object> readScenarios(const std::vector<std::string>& paths);

/// Returns a member of an object, or null if there is none.
const json::value& get(const json::object& object, std::string_view key);
std::string text(const json::value& value);
/// Returns the names in a list, or none if there is no list.
std::vector<std::string> names(const json::value& list);

}  // namespace conformance
