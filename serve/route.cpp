#include "serve/route.hpp"

#include <algorithm>
#include <utility>

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
                throw InvalidArgumentError("the target has a '%' without two hexadecimal digits after it");
            out += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::map<std::string, std::vector<std::string>> listsOf(std::string_view text) {
    std::map<std::string, std::vector<std::string>> lists;
    while (!text.empty()) {
        const std::string_view entry = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(entry.size() + 1, text.size()));
        const std::size_t equals = std::min(entry.find('='), entry.size());
        const std::string_view value = equals < entry.size() ? entry.substr(equals + 1) : std::string_view();
        if (!entry.empty()) lists[decode(entry.substr(0, equals), true)].push_back(decode(value, true));
    }
    return lists;
}

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

}  // namespace

std::string_view Route::parameter(const std::string& called) const {
    const auto found = query.find(called);
    return found == query.end() ? std::string_view() : std::string_view(found->second);
}

std::string spelt(std::string_view text, bool is_segment) {
    std::string out;
    for (const char c : text) {
        if (c == '%') {
            out += "%25";
        } else if (c == '/' && is_segment) {
            out += "%2F";
        } else {
            out += c;
        }
    }
    return out;
}

Route routeOf(std::string_view target) {
    if (!target.starts_with('/')) throw InvalidArgumentError("the target is not a path: it does not begin with '/'");
    target = target.substr(0, target.find('#'));
    const std::size_t question = target.find('?');
    const std::string_view path = target.substr(0, question);
    Route route;
    if (question != std::string_view::npos) route.lists = listsOf(target.substr(question + 1));
    for (const auto& [name, values] : route.lists) route.query[name] = values.back();
    route.segments = segmentsOf(path);
    for (const std::string& segment : route.segments) route.path += "/" + spelt(segment, true);
    return route;
}

bool Route::hasDots() const {
    return std::ranges::any_of(segments, [](const std::string& each) { return each == "." || each == ".."; });
}

bool Route::fits(std::string_view pattern) {
    std::string endpoint_name, thread_name;
    for (const std::string& segment : segments) {
        if (pattern.empty()) return false;
        pattern.remove_prefix(1);  // the '/'
        const std::string_view wanted = pattern.substr(0, pattern.find('/'));
        pattern.remove_prefix(wanted.size());
        if (wanted == ":endpoint") {
            endpoint_name = segment;
        } else if (wanted == ":thread") {
            thread_name = segment;
        } else if (wanted != segment) {
            return false;
        }
    }
    if (!pattern.empty()) return false;
    name = std::move(endpoint_name);
    thread = std::move(thread_name);
    return true;
}

}  // namespace stategraph::serve
