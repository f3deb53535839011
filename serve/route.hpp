#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

// What a request's target asks for.
namespace stategraph::serve {

enum class Action : std::uint8_t {
    start,
    resume,
    decide,
    cancel,
    state,
    history,
    events,
    chat,
    chat_stream,
    schema,
    health,
    page
};

struct Route {
    Action action = Action::page;
    std::string path;    // decoded
    std::string name;    // of the endpoint; empty for health and pages
    std::string thread;  // empty for chat, whose body names it
    std::map<std::string, std::string> query;

    /// Empty if there is none.
    std::string_view parameter(const std::string& name) const;
};

/// Errors: InvalidArgumentError for a target that is no path, or escapes that are wrong. Targets that no endpoint has
/// are pages.
Route routeOf(std::string_view target);
/// Whether a request with this method may be answered, "GET" and "HEAD" or "POST".
bool takes(Action action, std::string_view method) noexcept;

}  // namespace stategraph::serve
