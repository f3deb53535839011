#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The text of a progress bar.
namespace stategraph::progress {

/// The counts of a superstep, or of a run.
struct Counts {
    std::size_t tasks = 0;  // of a superstep: the tasks that are due
    std::size_t done = 0;   // those with a result, including restored ones
    std::size_t restored = 0;
    std::size_t failed = 0;
    std::size_t retries = 0;
    std::int64_t elapsed_ns = 0;
};

/// Returns a duration such as "0:05", "12:00" or "1:02:03".
std::string durationText(std::int64_t ns);
/// Returns text without characters that move the cursor.
std::string cleaned(std::string_view text);
/// Returns how many columns UTF-8 text occupies, counting one for each character.
std::size_t columnsOf(std::string_view text) noexcept;
std::string_view fitting(std::string_view text, std::size_t columns) noexcept;

/// Returns the line of a superstep, at most `columns` wide.
std::string superstepLine(std::string_view label, std::uint64_t superstep, const Counts& counts, std::size_t columns);
/// Returns the line about the end of a run, such as "done: 3 supersteps, …".
std::string endLine(std::string_view label, std::string_view ending, int supersteps, const Counts& counts);

}  // namespace stategraph::progress
