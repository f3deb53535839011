#pragma once
#include <string>

#include <boost/json.hpp>

namespace bench::report {

/// A JSON file's content. Throws std::runtime_error that names the file.
boost::json::value readJson(const std::string& path);

/// A number, whatever way it was written.
double numberOf(const boost::json::value& value);

/// A member's text, or "" if there is none.
std::string textOf(const boost::json::object& object, const char* name);

}  // namespace bench::report
