#pragma once
#include <chrono>
#include <string>
#include <string_view>

// The names and times of records.
namespace stategraph::langgraph {

/// A new UUID of version 7, greater as text than those before it in this process. Safe from any thread.
std::string newId();
/// Whether a text is a UUID in its usual form.
bool isUuid(std::string_view text) noexcept;
/// The id of the assistant that each server has for a graph: the UUID of version 5 that clients calculate too.
std::string assistantOf(const std::string& graph_id);
/// The current time, as ISO 8601 in UTC with microseconds.
std::string now();
/// A time in this form, with so many digits of a second.
std::string isoTime(std::chrono::system_clock::time_point time, int digits);
/// Reads a time of ISO 8601: a date, a time of the day and, unless it is UTC, an offset. Errors: InvalidRequest.
std::chrono::system_clock::time_point timeOf(std::string_view text);

}  // namespace stategraph::langgraph
