#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

namespace conformance {

namespace json = boost::json;

/// A part of the scenarios, which differ in data alone: every `of`th one, from the index `number` on.
struct Part {
    std::size_t number = 0;
    std::size_t of = 1;
};

/// Reads "N/OF". Errors: std::invalid_argument if it is not that, or if N is not less than OF.
Part parsePart(const std::string& text);

/// Reads the scenarios of files (.json has one, .ndjson one in each line) and of folders (their .json files), in order.
/// Returns the given part of them all. Errors: std::runtime_error naming the file.
std::vector<json::object> readScenarios(const std::vector<std::string>& paths, Part part = {});

/// Returns a member of an object, or null if there is none.
const json::value& get(const json::object& object, std::string_view key);
std::string text(const json::value& value);
/// Returns the names in a list, or none if there is no list.
std::vector<std::string> names(const json::value& list);

/// Returns the value with keys in order and whole numbers as integers, so that equal values have the same text.
json::value canonical(const json::value& value);
/// Returns the number as 64 bits if it fits and has no fraction.
std::optional<std::int64_t> asInteger(const json::value& value);

}  // namespace conformance
