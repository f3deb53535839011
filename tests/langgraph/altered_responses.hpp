#pragma once
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "tests/langgraph/player_bindings.hpp"

// Wrong replies, to test what tests replies.
namespace player {

/// A step's `response` with one thing changed that a comparison has to find.
struct Altered {
    /// Where the difference is found: the path of Difference, or the beginning of it if `is_exact` is false.
    std::string path;
    json::value response;
    bool is_exact = true;
};

/// Alters each text, number and flag of a response, leaves out each member and item, adds items, and swaps, repeats and
/// leaves out events. `how` is the scenario's `compare`: what it allows is left out. `bindings` has the ids of all
/// placeholders.
std::vector<Altered> alterations(const json::value& response, const std::string& how, const Bindings& bindings);

}  // namespace player
