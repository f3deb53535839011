#include "serve/audit.hpp"

#include <cmath>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/serve/log.hpp>

namespace stategraph::serve {

namespace json = boost::json;

json::object askedAs(const Asked& asked) {
    json::object line;
    const auto add = [&](const char* name, std::string_view text) {
        if (!text.empty()) line[name] = text;
    };
    add("operation", asked.operation);
    add("endpoint", asked.handler ? std::string_view(asked.route.segments.front()) : asked.route.name);
    add("thread", asked.thread());
    if (asked.identity) add("user", asked.identity->name);
    add("address", asked.remote);
    return line;
}

void tell(const Log& log, const char* event, json::object line) noexcept {
    if (!log) return;
    try {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        json::object whole{{"event", event},
                           {"time", std::chrono::duration_cast<std::chrono::milliseconds>(now).count()}};
        for (auto& [name, value] : line) whole.emplace(name, std::move(value));
        log(stategraph::detail::jsonText(whole));
    } catch (...) {  // a log that fails stops nobody
    }
}

double millisecondsOf(std::chrono::steady_clock::duration time) noexcept {
    return std::round(std::chrono::duration<double, std::micro>(time).count()) / 1000;
}

}  // namespace stategraph::serve
