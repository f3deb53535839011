#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace stategraph::detail {

/// Returns whether no byte is above 0x7f. A short text, such as a name, costs no loop.
inline bool isAscii(std::string_view text) noexcept {
    constexpr std::uint64_t high = 0x8080808080808080U;
    const char* const at = text.data();
    const std::size_t size = text.size();
    std::uint64_t word = 0;
    if (size < 8) {
        if (size >= 4) {  // two reads that overlap
            std::uint32_t head, tail;
            std::memcpy(&head, at, 4);
            std::memcpy(&tail, at + size - 4, 4);
            return ((head | tail) & static_cast<std::uint32_t>(high)) == 0;
        }
        if (size == 0) return true;
        return ((at[0] | at[size / 2] | at[size - 1]) & 0x80) == 0;
    }
    for (std::size_t i = 0; i + 8 < size; i += 8) {
        std::memcpy(&word, at + i, 8);
        if ((word & high) != 0) return false;
    }
    std::memcpy(&word, at + size - 8, 8);
    return (word & high) == 0;
}

/// Returns whether the bytes are UTF-8 as RFC 3629 defines it: without overlong forms, surrogates, and characters above
/// U+10FFFF.
inline bool isUtf8(std::string_view text) noexcept {
    if (isAscii(text)) return true;
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto tail = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
    while (at != end) {
        // Most text is ASCII, so eight bytes are checked at a time.
        while (end - at >= 8) {
            std::uint64_t word;
            std::memcpy(&word, at, 8);
            if ((word & 0x8080808080808080U) != 0) break;
            at += 8;
        }
        if (at == end) return true;
        const unsigned lead = static_cast<unsigned char>(*at);
        if (lead < 0x80U) {
            ++at;
            continue;
        }
        const std::ptrdiff_t size = lead < 0xe0U ? 2 : lead < 0xf0U ? 3 : 4;
        if (lead < 0xc2U || lead > 0xf4U || end - at < size) return false;
        // The second byte rules out overlong forms, surrogates, and characters above U+10FFFF.
        const unsigned second = static_cast<unsigned char>(at[1]);
        const unsigned low = lead == 0xe0U ? 0xa0U : lead == 0xf0U ? 0x90U : 0x80U;
        const unsigned high = lead == 0xedU ? 0x9fU : lead == 0xf4U ? 0x8fU : 0xbfU;
        if (second < low || second > high) return false;
        for (std::ptrdiff_t i = 2; i < size; ++i) {
            if (!tail(at[i])) return false;
        }
        at += size;
    }
    return true;
}

/// Returns the first `size` bytes of a text, or up to three fewer if these would end inside a character.
inline std::string_view beginningOf(std::string_view text, std::size_t size) noexcept {
    if (size >= text.size()) return text;
    for (std::size_t end = size; end + 4 > size; --end) {
        if ((static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80U) return text.substr(0, end);
        if (end == 0) break;
    }
    return text.substr(0, size);  // it is not UTF-8
}

}  // namespace stategraph::detail
