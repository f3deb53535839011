#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

// A request's target, taken apart. Which targets exist is the table of operations in serve/replies.cpp.
namespace stategraph::serve {

struct Route {
    std::string path;                   // decoded
    std::vector<std::string> segments;  // of the path, each decoded after the split: a thread's name may have slashes
    std::map<std::string, std::string> query;
    std::string name;    // of the endpoint; empty until a pattern with ":endpoint" fits
    std::string thread;  // empty until a pattern with ":thread" fits

    /// Empty if the target has no such parameter.
    std::string_view parameter(const std::string& name) const;
    /// Whether the path fits `pattern`, such as "/:endpoint/:thread/state"; then sets `name` and `thread` from it.
    bool fits(std::string_view pattern);
};

/// Errors: InvalidArgumentError for a target that is no path, or escapes that are wrong.
Route routeOf(std::string_view target);

}  // namespace stategraph::serve
