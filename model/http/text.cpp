#include "model/http/text.hpp"

#include <algorithm>
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

/// Returns how many bytes from `at` on are somewhere in the secret.
std::size_t sharedAt(std::string_view text, std::size_t at, std::string_view secret) {
    std::size_t longest = 0;
    for (std::size_t from = 0; from < secret.size(); ++from) {
        std::size_t size = 0;
        while (at + size < text.size() && from + size < secret.size() && text[at + size] == secret[from + size]) ++size;
        longest = std::max(longest, size);
    }
    return longest;
}

bool isOfKey(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

/// Removes the beginning and the end of a secret that a provider shows around a mask, as in "sk-pr***1234".
void removeAroundMasks(std::string& text, std::string_view secret) {
    constexpr std::size_t shown_min = 2;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && (text[end] == '*' || text[end] == '.')) ++end;
        if (end - at < 2) {
            ++at;
            continue;
        }
        std::size_t after = end;
        while (after < text.size() && isOfKey(text[after])) ++after;
        std::size_t before = at;
        while (before > 0 && isOfKey(text[before - 1])) --before;
        const std::string_view shown(text);
        if (after - end >= shown_min && secret.ends_with(shown.substr(end, after - end))) text.erase(end, after - end);
        if (at - before >= shown_min && secret.starts_with(std::string_view(text).substr(before, at - before))) {
            text.erase(before, at - before);
            end -= at - before;
        }
        at = end;
    }
}

/// Removes the secret, its parts, and what providers show of it.
std::string withoutSecret(std::string_view text, std::string_view secret) {
    constexpr std::size_t part_min = 8;  // shorter ones are words
    if (secret.empty()) return std::string(text);
    std::string open;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t shared = sharedAt(text, at, secret);
        if (shared >= std::min(part_min, secret.size())) {
            open += "***";
            at += shared;
        } else {
            open += text[at++];
        }
    }
    removeAroundMasks(open, secret);
    return open;
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
    // The secret is removed before the text is cut, because the cut might leave a part of it. So might this one.
    std::string_view read = text.substr(0, limit + secret.size());
    for (std::size_t part = secret.size(); part > 0 && read.size() < text.size(); --part) {
        if (!read.ends_with(secret.substr(0, part))) continue;
        read.remove_suffix(part);
        break;
    }
    std::string open = withoutSecret(read, secret);
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
