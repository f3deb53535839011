#pragma once
#include <chrono>
#include <optional>

#include <boost/json.hpp>

namespace stategraph::workflow::from_json {

/// Returns a time for text such as "2026-01-31T08:00:00Z", "2026-01-31T08:00:00.250Z" (digits after the ninth are
/// dropped) and "2026-01-31T10:00:00+02:00", and none for anything else.
std::optional<std::chrono::system_clock::time_point> instantOf(const boost::json::value& value);

}  // namespace stategraph::workflow::from_json
