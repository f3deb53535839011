#include "inspect/terminal.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace stategraph::inspect {
namespace {

constexpr char32_t not_a_character = 0xFFFFFFFF;

// Returns the character with which a text begins, and its size. A byte that is not UTF-8 counts as one character.
char32_t firstOf(std::string_view text, std::size_t& size) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    size = 1;
    if (lead < 0x80) return lead;
    const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                                                             : 0;
    if (length == 0 || text.size() < length) return not_a_character;
    char32_t character = lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return not_a_character;
        character = character << 6U | (byte(i) & 0x3FU);
    }
    constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
    const bool is_surrogate = character >= 0xD800 && character < 0xE000;
    if (character < least[length] || character > 0x10FFFF || is_surrogate) return not_a_character;
    size = length;
    return character;
}

// Returns whether it is a character that a terminal obeys or that a reader cannot see: controls, and marks that hide or
// turn the text around them.
bool isHidden(char32_t character) noexcept {
    return character < 0x20 || (character >= 0x7F && character < 0xA0) || character == 0xAD || character == 0x61C ||
           (character >= 0x200B && character <= 0x200F) || (character >= 0x2028 && character <= 0x202E) ||
           (character >= 0x2060 && character <= 0x206F) || character == 0xFEFF ||
           (character >= 0xFFF9 && character <= 0xFFFB) || (character >= 0xE0000 && character <= 0xE007F);
}

std::string hexOf(std::uint32_t number, const char* format) {
    std::array<char, 16> text = {};
    std::snprintf(text.data(), text.size(), format, number);
    return text.data();
}

}  // namespace

std::string plain(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        std::size_t size = 0;
        const char32_t character = firstOf(text, size);
        if (character == not_a_character) {
            out += hexOf(static_cast<unsigned char>(text[0]), "\\x%02x");
        } else if (character == '\n') {
            out += "\\n";
        } else if (character == '\t') {
            out += "\\t";
        } else if (isHidden(character)) {
            out += character < 0x80 ? hexOf(character, "\\x%02x") : hexOf(character, "\\u{%x}");
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(size);
    }
    return out;
}

std::string cut(std::string_view text, std::size_t columns) {
    if (columns == 0) return std::string(text);
    std::size_t characters = 0;
    std::size_t before_last = 0;  // where the last character that fits begins
    for (std::size_t at = 0; at < text.size();) {
        std::size_t size = 0;
        firstOf(text.substr(at), size);
        if (++characters == columns) before_last = at;
        if (characters > columns) return std::string(text.substr(0, before_last)) + "…";
        at += size;
    }
    return std::string(text);
}

std::string timeText(std::chrono::system_clock::time_point time) {
    using namespace std::chrono;
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(floor<milliseconds>(time - day));
    std::array<char, 40> text = {};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d.%03d", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
    return text.data();
}

std::string ageText(std::chrono::system_clock::duration age) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    if (seconds < 120) return std::to_string(seconds < 0 ? 0 : seconds) + " s";
    if (seconds < 120 * 60) return std::to_string(seconds / 60) + " min";
    if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + " h";
    return std::to_string(seconds / 86'400) + " d";
}

std::string durationText(std::chrono::microseconds duration) {
    const auto us = duration.count();
    if (us < 1000) return std::to_string(us) + " µs";
    std::array<char, 32> text = {};
    const auto value = static_cast<double>(us);
    if (us < 1'000'000) {
        std::snprintf(text.data(), text.size(), "%.1f ms", value / 1e3);
    } else if (us < 120'000'000) {
        std::snprintf(text.data(), text.size(), "%.1f s", value / 1e6);
    } else {
        std::snprintf(text.data(), text.size(), "%.1f min", value / 6e7);
    }
    return text.data();
}

std::string sizeText(std::size_t bytes) {
    if (bytes < 1000) return std::to_string(bytes) + " B";
    const bool is_kilo = bytes < 1'000'000;
    std::array<char, 32> text = {};
    std::snprintf(text.data(), text.size(), "%.1f %s", static_cast<double>(bytes) / (is_kilo ? 1e3 : 1e6),
                  is_kilo ? "kB" : "MB");
    return text.data();
}

std::string Terminal::in(Colour colour, std::string_view text) const {
    static constexpr std::array<std::string_view, 7> codes = {"0", "2", "31", "32", "33", "34", "1"};
    if (!colour_ || colour == Colour::none || text.empty()) return std::string(text);
    return "\x1b[" + std::string(codes[static_cast<std::size_t>(colour)]) + "m" + std::string(text) + "\x1b[0m";
}

std::string Terminal::fit(std::string_view text, std::size_t used) const {
    if (columns_ == 0) return std::string(text);
    return cut(text, columns_ > used + 8 ? columns_ - used : 8);
}

}  // namespace stategraph::inspect
