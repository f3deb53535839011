#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "langgraph/identifiers.hpp"

// Files of time zones, so that a test does not depend on the machine's.
namespace zone_bytes {

inline std::chrono::sys_seconds utc(std::string_view text) {
    return std::chrono::floor<std::chrono::seconds>(stategraph::langgraph::timeOf(text));
}
inline std::chrono::local_seconds local(std::string_view text) {
    return std::chrono::local_seconds(utc(text).time_since_epoch());
}

inline std::string integer(std::int64_t value, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i)
        text += static_cast<char>(static_cast<std::uint64_t>(value) >> (8U * static_cast<unsigned>(i)));
    return text;
}

/// A file with changes to some of these offsets, in seconds, and the rules that hold afterwards.
inline std::string withChanges(const std::vector<std::pair<std::chrono::sys_seconds, int>>& changes,
                               const std::vector<int>& offsets, const std::string& rules) {
    const auto part = [&](int time_bytes) {
        std::string text = "TZif2" + std::string(15, '\0');
        for (const std::size_t count :
             {std::size_t{0}, std::size_t{0}, std::size_t{0}, changes.size(), offsets.size(), std::size_t{1}})
            text += integer(static_cast<std::int64_t>(count), 4);
        for (const auto& each : changes) text += integer(each.first.time_since_epoch().count(), time_bytes);
        for (const auto& each : changes) text += static_cast<char>(each.second);
        for (const int offset : offsets) text += integer(offset, 4) + std::string(2, '\0');
        return text + std::string(1, '\0');
    };
    return part(4) + part(8) + "\n" + rules + "\n";
}
inline std::string withRules(const std::string& rules) { return withChanges({}, {0}, rules); }

}  // namespace zone_bytes
