#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>

// The paths that pending writes are keyed by within a checkpoint.
namespace stategraph::checkpoint {

/// A task's place in its superstep: "pull:NAME", or "push:INDEX" with ten digits, so that the order of paths is the
/// order of tasks.
std::string pullPath(std::string_view node);
std::string pushPath(std::size_t index);

/// The pseudo task of what a Command wrote to a superstep that waits.
inline constexpr std::string_view command_path = "command";
/// How the last run at the checkpoint ended, or that a run has resumed after such an end: the "node" of that record.
inline constexpr std::string_view run_path = "run";
inline constexpr std::string_view run_goes_on = "running";
inline constexpr std::string_view run_failed = "failed";
inline constexpr std::string_view run_at_breakpoint = "breakpoint";
inline constexpr std::string_view run_at_limit = "limit";
inline constexpr std::string_view run_cancelled = "cancelled";
inline constexpr std::string_view run_timed_out = "timed_out";
/// The thread is cancelled for good: what is due here is not to be resumed.
inline constexpr std::string_view thread_cancelled = "thread_cancelled";
/// No run at all: an edit made the checkpoint.
inline constexpr std::string_view run_edited = "edited";
/// "sleeping:UNIX_MS": a task waits for that time, the first of several.
std::string sleepingUntil(std::int64_t unix_ms);
/// The time; none for any other word.
std::optional<std::int64_t> sleepsUntil(std::string_view word);

/// An effect of a task, or of one inside it: "once:TASK:KEY". In the root's log, wherever the task is.
inline constexpr std::string_view effect_prefix = "once:";
std::string effectPath(TaskId task, std::string_view key);

}  // namespace stategraph::checkpoint
