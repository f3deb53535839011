#pragma once
#include <cctype>
#include <string>
#include <string_view>

namespace markdown {

/// The anchor of a heading as GitHub makes it: lower-case letters, digits, hyphens and underscores, with hyphens for
/// spaces.
inline std::string anchorOf(std::string_view heading) {
    std::string anchor;
    for (const char c : heading) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == ' ') anchor.push_back('-');
        if (byte >= 0x80 || std::isalnum(byte) != 0 || c == '-' || c == '_')
            anchor.push_back(static_cast<char>(byte < 0x80 ? std::tolower(byte) : byte));
    }
    return anchor;
}

}  // namespace markdown
