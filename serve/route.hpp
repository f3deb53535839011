#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

// Splits a request's target. The table of operations in serve/replies.cpp defines which targets exist.
namespace stategraph::serve {

struct Route {
    // Decoded, except that '/' and '%' in a segment are %2F and %25: one spelling for one list of segments.
    std::string path;
    // The segments of the path, each decoded after the split, because a thread's name may have slashes.
    std::vector<std::string> segments;
    std::map<std::string, std::string> query;               // of a repeated parameter the last value
    std::map<std::string, std::vector<std::string>> lists;  // all values of each parameter
    std::string name;    // name of the endpoint; empty until a pattern with ":endpoint" matches
    std::string thread;  // empty until a pattern with ":thread" matches

    /// Returns the parameter's value, or an empty text if the target has no such parameter.
    std::string_view parameter(const std::string& name) const;
    /// Whether a segment is "." or "..", which proxies and browsers read in another way than the server.
    bool hasDots() const;
    /// Returns whether the path matches `pattern`, such as "/:endpoint/:thread/state". If so, sets `name` and `thread`
    /// from it.
    bool fits(std::string_view pattern);
};

/// Throws InvalidArgumentError for a target that is not a path, or has invalid escapes.
Route routeOf(std::string_view target);
/// Returns a segment, or a path without escapes, as it is in Route::path.
std::string spelt(std::string_view text, bool is_segment);

}  // namespace stategraph::serve
