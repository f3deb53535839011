#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What a progress bar says, as text.
namespace stategraph::progress {

/// Of a superstep, or of a run.
struct Counts {
    std::size_t tasks = 0;  // of a superstep: that are due
    std::size_t done = 0;   // have a result, restored ones included
    std::size_t restored = 0;
    std::size_t failed = 0;
    std::size_t retries = 0;
    std::int64_t elapsed_ns = 0;
};

/// "0:05", "12:00", "1:02:03".
std::string durationText(std::int64_t ns);
/// Text without characters that move the cursor.
std::string cleaned(std::string_view text);
/// How many columns UTF-8 text takes, one a character; and as much of it as fits.
std::size_t columnsOf(std::string_view text) noexcept;
std::string_view fitting(std::string_view text, std::size_t columns) noexcept;

/// The line of a superstep, at most `columns` wide.
std::string superstepLine(std::string_view label, std::uint64_t superstep, const Counts& counts, std::size_t columns);
/// What a run came to: "done: 3 supersteps, …".
std::string endLine(std::string_view label, std::string_view ending, int supersteps, const Counts& counts);

}  // namespace stategraph::progress
