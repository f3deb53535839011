#pragma once
#include <chrono>
#include <optional>

#include <boost/json.hpp>

namespace stategraph::workflow::from_json {

/// Returns a time in UTC, to the second, for text such as "2026-01-31T08:00:00Z", and none for anything else.
std::optional<std::chrono::system_clock::time_point> instantOf(const boost::json::value& value);

}  // namespace stategraph::workflow::from_json
