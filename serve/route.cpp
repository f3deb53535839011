#include "serve/route.hpp"

#include <array>
#include <optional>
#include <vector>

#include <stategraph/error.hpp>

namespace stategraph::serve {

namespace {

int digitOf(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string decode(std::string_view text, bool is_query) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && is_query) {
            out += ' ';
        } else if (text[i] == '%') {
            const int high = i + 2 < text.size() ? digitOf(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? digitOf(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                throw InvalidArgumentError("the target has a '%' without two hexadecimal digits behind it");
            out += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::map<std::string, std::string> queryOf(std::string_view text) {
    std::map<std::string, std::string> query;
    while (!text.empty()) {
        const std::string_view entry = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(entry.size() + 1, text.size()));
        const std::size_t equals = std::min(entry.find('='), entry.size());
        const std::string_view value = equals < entry.size() ? entry.substr(equals + 1) : std::string_view();
        if (!entry.empty()) query[decode(entry.substr(0, equals), true)] = decode(value, true);
    }
    return query;
}

/// Split before it is decoded, so that a thread's name may have slashes.
std::vector<std::string> segmentsOf(std::string_view path) {
    std::vector<std::string> segments;
    path.remove_prefix(1);
    for (;;) {
        const std::size_t slash = path.find('/');
        segments.push_back(decode(path.substr(0, slash), false));
        if (slash == std::string_view::npos) return segments;
        path.remove_prefix(slash + 1);
    }
}

struct Word {
    std::string_view text;
    Action action;
};
constexpr std::array<Word, 7> words = {{{"start", Action::start},
                                        {"resume", Action::resume},
                                        {"decide", Action::decide},
                                        {"cancel", Action::cancel},
                                        {"state", Action::state},
                                        {"history", Action::history},
                                        {"events", Action::events}}};

std::optional<Action> actionOf(std::string_view text) noexcept {
    for (const Word& word : words) {
        if (word.text == text) return word.action;
    }
    return {};
}

}  // namespace

std::string_view Route::parameter(const std::string& called) const {
    const auto found = query.find(called);
    return found == query.end() ? std::string_view() : std::string_view(found->second);
}

Route routeOf(std::string_view target) {
    if (!target.starts_with('/')) throw InvalidArgumentError("the target is no path: it begins with no '/'");
    target = target.substr(0, target.find('#'));
    const std::size_t question = target.find('?');
    const std::string_view path = target.substr(0, question);
    Route route;
    if (question != std::string_view::npos) route.query = queryOf(target.substr(question + 1));
    route.path = decode(path, false);
    const std::vector<std::string> segments = segmentsOf(path);
    if (segments.size() == 1 && segments[0] == "health") {
        route.action = Action::health;
    } else if (segments.size() == 2 && segments[1] == "chat") {
        route.action = Action::chat;
        route.name = segments[0];
    } else if (segments.size() == 2 && segments[1] == "schema") {
        route.action = Action::schema;
        route.name = segments[0];
    } else if (segments.size() == 4 && segments[1] == "chat" && segments[3] == "stream") {
        route.action = Action::chat_stream;
        route.name = segments[0];
        route.thread = segments[2];
    } else if (segments.size() == 3) {
        if (const auto action = actionOf(segments[2])) {
            route.action = *action;
            route.name = segments[0];
            route.thread = segments[1];
        }
    }
    return route;
}

bool takes(Action action, std::string_view method) noexcept {
    switch (action) {
        case Action::start:
        case Action::resume:
        case Action::decide:
        case Action::cancel:
        case Action::chat:
            return method == "POST";
        default:
            return method == "GET" || method == "HEAD";
    }
}

}  // namespace stategraph::serve
