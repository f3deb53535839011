#pragma once
#include <string>

#include <boost/json.hpp>

namespace bench::report {

/// Reads a JSON file. Throws std::runtime_error that names the file.
boost::json::value readJson(const std::string& path);

/// Returns a number in any of the forms in which it may be written.
double numberOf(const boost::json::value& value);

/// Returns a member's text, or "" if there is none.
std::string textOf(const boost::json::object& object, const char* name);

}  // namespace bench::report
