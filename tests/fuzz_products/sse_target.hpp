#pragma once
#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/http/sse_parser.hpp"
#include "tests/fuzz/found.hpp"
#include "tests/fuzz_products/targets.hpp"

namespace fuzz {

/// Returns what a parser takes from the text in pieces of that size: a line for each event, and how it ended.
inline std::string eventsOf(std::string_view text, std::size_t piece) {
    constexpr std::size_t limit = 256;
    stategraph::model::http::SseParser parser(limit);
    std::string events;
    const auto take = [&](std::string_view name, std::string_view data) {
        if (data.size() > limit) found("an event is larger than its limit");
        events += std::string(name) + ":" + std::string(data) + "\n";
    };
    try {
        for (std::size_t at = 0; at < text.size(); at += piece) parser.feed(text.substr(at, piece), take);
    } catch (const std::length_error&) {
        events += "too long";
    }
    return events;
}

inline int runSse(std::string_view bytes) {
    if (bytes.empty()) return 0;
    const std::size_t piece = 1 + static_cast<unsigned char>(bytes.front()) % 7U;
    const std::string_view text = bytes.substr(1);
    if (eventsOf(text, piece) != eventsOf(text, std::max<std::size_t>(text.size(), 1)))
        found("events depend on how the text is split");
    return 0;
}

}  // namespace fuzz
