#pragma once
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include <stategraph/detail/chrono.hpp>

// Prepares text for a terminal. All text from a store passes through `plain`, because it may contain anything.
namespace stategraph::inspect {

/// Returns text without bytes that a terminal would obey. Control characters, C1 codes, marks that change the direction
/// of text, and invalid UTF-8 are shown as \xNN or \u{N}. A line break is shown as
/// .
std::string plain(std::string_view text);

/// Returns at most this many characters, of which the last is a "…" if the text was cut; 0 means the whole text. The
/// text must be UTF-8.
std::string cut(std::string_view text, std::size_t columns);

/// Returns text such as "2026-11-23 21:40:05.123", in UTC.
std::string timeText(std::chrono::system_clock::time_point time);
/// Returns text such as "3 s", "4 min", "2 h" or "5 d".
std::string ageText(std::chrono::system_clock::duration age);
/// Returns text such as "85 µs", "4.1 ms", "2.0 s" or "3.5 min".
std::string durationText(std::chrono::microseconds duration);
/// Returns text such as "812 B", "4.1 kB" or "2.0 MB".
std::string sizeText(std::size_t bytes);

enum class Colour { none, dim, red, green, yellow, blue, bold };

/// Writes lines, in colour if that is requested.
class Terminal {
public:
    Terminal(std::ostream& out, bool colour, std::size_t columns) : out_(out), colour_(colour), columns_(columns) {}

    std::ostream& out() noexcept { return out_; }
    /// Returns the text in a colour.
    std::string in(Colour colour, std::string_view text) const;
    /// Returns one line, of which the text before it already uses `used` columns.
    std::string fit(std::string_view text, std::size_t used) const;

private:
    std::ostream& out_;
    bool colour_;
    std::size_t columns_;
};

}  // namespace stategraph::inspect
