#pragma once
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include <stategraph/detail/chrono.hpp>

// Text for a terminal. All text from a store goes through `plain`, since it may contain anything.
namespace stategraph::inspect {

/// Without bytes that a terminal would obey: control characters, C1 codes and marks that turn the direction of text are
/// shown as \xNN or \u{N}; what is not UTF-8 too. A line break is shown as \n.
std::string plain(std::string_view text);

/// At most so many characters, the last then a "…"; 0: all of it. The text is UTF-8.
std::string cut(std::string_view text, std::size_t columns);

/// "2026-11-23 21:40:05.123", UTC.
std::string timeText(std::chrono::system_clock::time_point time);
/// "3 s", "4 min", "2 h", "5 d".
std::string ageText(std::chrono::system_clock::duration age);
/// "85 µs", "4.1 ms", "2.0 s", "3.5 min".
std::string durationText(std::chrono::microseconds duration);
/// "812 B", "4.1 kB", "2.0 MB".
std::string sizeText(std::size_t bytes);

enum class Colour { none, dim, red, green, yellow, blue, bold };

/// Writes lines, in colour where that is wanted.
class Terminal {
public:
    Terminal(std::ostream& out, bool colour, std::size_t columns) : out_(out), colour_(colour), columns_(columns) {}

    std::ostream& out() noexcept { return out_; }
    /// The text in a colour.
    std::string in(Colour colour, std::string_view text) const;
    /// One line, of which `used` columns are taken already by what is before it.
    std::string fit(std::string_view text, std::size_t used) const;

private:
    std::ostream& out_;
    bool colour_;
    std::size_t columns_;
};

}  // namespace stategraph::inspect
