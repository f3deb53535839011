#pragma once
#include <string_view>

namespace stategraph::detail {

/// Whether it is 1 to 64 letters, digits, '_' and '-': the names of tools, since providers take no others, and of
/// endpoints, which are part of paths.
constexpr bool isPlainName(std::string_view name) noexcept {
    if (name.empty() || name.size() > 64) return false;
    for (const char c : name) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '-') return false;
    }
    return true;
}

}  // namespace stategraph::detail
