#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "tests/langgraph/player_bindings.hpp"
#include "tests/langgraph/player_http.hpp"

// Compares what a server replied with what was recorded.
namespace player {

/// Where a reply differs, such as `body.tasks[0].name`, and the two things that differ.
struct Difference {
    std::string path;
    std::string expected;
    std::string got;
};

/// Compares by meaning: members that are not expected are allowed, lists have an order, texts match as placeholders
/// allow, and `"<ms>"` is any number. Placeholders that were met are bound, also before a difference.
std::optional<Difference> compare(const json::value& expected, const json::value& got, Bindings& bindings,
                                  const std::string& path);

/// Compares a reply with a step's `response`: the status, and below 400 also the headers and the body. `how` is the
/// step's or the scenario's `compare`: "" (events in order), "unordered" (events in any order), "names" (which names
/// events have).
std::optional<Difference> compareReply(const json::value& response, const Reply& got, std::string_view how,
                                       Bindings& bindings);

/// The beginning of a value, as it is shown in messages.
std::string shown(const json::value& value);

}  // namespace player
