#pragma once
#include <optional>
#include <string_view>

#include <stategraph/unfinished.hpp>

// Translates what a thread waits for between the words of its records and an index of threads.
namespace stategraph::checkpoint {

/// Returns what the record of the last run at a checkpoint (run_path) says by itself, or none if its tasks' records
/// decide. A word of a later version says nothing.
std::optional<ThreadOutlook> outlookOfRun(std::string_view word);

/// Returns the status for a reason; for Unfinished::damaged it is unknown.
ThreadStatus statusOf(Unfinished reason) noexcept;
/// Returns the reason for a status; none for `unknown` and `finished`.
std::optional<Unfinished> reasonOf(ThreadStatus status) noexcept;

}  // namespace stategraph::checkpoint
