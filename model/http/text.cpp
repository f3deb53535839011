#include "model/http/text.hpp"

#include <cstdint>

namespace stategraph::model::http {

namespace {

/// Returns the number of bytes from `at` on that form one character, or 0 if they form none.
std::size_t characterAt(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const std::uint32_t first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        if (!follows(1) || !follows(2)) return 0;
        const bool is_overlong = first == 0xE0 && byte(1) < 0xA0;
        const bool is_surrogate = first == 0xED && byte(1) > 0x9F;
        return is_overlong || is_surrogate ? 0 : 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (!follows(1) || !follows(2) || !follows(3)) return 0;
        const bool is_out = (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F);
        return is_out ? 0 : 4;
    }
    return 0;
}

}  // namespace

std::string validUtf8(std::string_view text) {
    std::string valid;
    valid.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = characterAt(text, at);
        if (size == 0) {
            valid += "\xEF\xBF\xBD";
            ++at;
        } else {
            valid += text.substr(at, size);
            at += size;
        }
    }
    return valid;
}

std::optional<std::string> fromBase64(std::string_view text) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
    if (text.size() % 4 == 1) return {};
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char each : text) {
        const std::size_t digit = digits.find(each);
        if (digit == std::string_view::npos) return {};
        bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU);
    }
    return bytes;
}

std::string quoted(std::string_view text, std::string_view secret, std::size_t limit) {
    // The secret is removed before the text is cut, because the cut might leave a part of it.
    std::string open(text.substr(0, limit + secret.size()));
    if (!secret.empty()) {
        for (std::size_t at = open.find(secret); at != std::string::npos; at = open.find(secret, at))
            open.replace(at, secret.size(), "***");
    }
    for (char& c : open) {
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
    }
    const bool is_cut = text.size() > limit || open.size() > limit;
    if (!is_cut) return validUtf8(open);
    constexpr std::string_view dots = " ...";
    std::string cut = validUtf8(open);
    std::size_t size = 0;
    while (size + characterAt(cut, size) <= limit - dots.size() && size < cut.size()) size += characterAt(cut, size);
    cut.resize(size);
    return cut += dots;
}

}  // namespace stategraph::model::http
