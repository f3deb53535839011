#pragma once
#include <algorithm>
#include <cctype>
#include <string_view>

namespace stategraph::inspect {

inline constexpr std::string_view key_rule = "at least 16 letters, digits, '-' and '_'";

/// Whether it can be the key of an inspector: `key_rule`.
inline bool isAcceptableKey(std::string_view key) {
    const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
    return key.size() >= 16 && std::ranges::all_of(key, is_plain);
}

}  // namespace stategraph::inspect
