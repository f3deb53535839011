#pragma once
#include <string_view>
#include <vector>

#include <boost/json.hpp>

// What tests/langgraph/recorded has (see its README.md).
namespace recorded {

/// The descriptions of the graphs, by their names.
const boost::json::object& graphs();
/// The scenarios, in the order of the file.
const std::vector<boost::json::object>& scenarios();
/// The scenario with this id. Errors: std::out_of_range.
const boost::json::object& scenario(std::string_view id);

}  // namespace recorded
