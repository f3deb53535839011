#pragma once
#include <string_view>

namespace stategraph::detail {

/// Whether a name consists of 1 to 64 letters, digits, '_' and '-'. Tools have such names because providers accept no
/// others, endpoints because their names are parts of paths.
constexpr bool isPlainName(std::string_view name) noexcept {
    if (name.empty() || name.size() > 64) return false;
    for (const char c : name) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '-') return false;
    }
    return true;
}

}  // namespace stategraph::detail
