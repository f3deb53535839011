#pragma once
#include <optional>
#include <string_view>

#include <stategraph/unfinished.hpp>

// What a thread waits for, in the words of its records and of an index of threads.
namespace stategraph::checkpoint {

/// What the record of the last run at a checkpoint (run_path) says by itself; none: its tasks' records decide. A word
/// of a later version says nothing.
std::optional<ThreadOutlook> outlookOfRun(std::string_view word);

/// Of Unfinished::damaged: unknown.
ThreadStatus statusOf(Unfinished reason) noexcept;
/// None of `unknown` and `finished`.
std::optional<Unfinished> reasonOf(ThreadStatus status) noexcept;

}  // namespace stategraph::checkpoint
