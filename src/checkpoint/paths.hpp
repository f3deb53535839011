#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>

// The paths that serve as keys of pending writes within a checkpoint.
namespace stategraph::checkpoint {

/// Returns a task's place in its superstep: "pull:NAME", or "push:INDEX" with ten digits, so that the order of paths is
/// the order of tasks.
std::string pullPath(std::string_view node);
std::string pushPath(std::size_t index);

/// The pseudo task for what a Command wrote to a pending superstep.
inline constexpr std::string_view command_path = "command";
/// The path of the record that says how the last run at the checkpoint ended, or that a run has resumed after such an
/// end. The record's "node" says how: the word of a status (isNoted in outlook.hpp), or one of these.
inline constexpr std::string_view run_path = "run";
inline constexpr std::string_view run_goes_on = "running";
inline constexpr std::string_view run_failed = "failed";
/// The thread is cancelled for good: what is due here must not be resumed.
inline constexpr std::string_view thread_cancelled = "thread_cancelled";
/// Returns "sleeping:UNIX_MS": a task waits until that time, which is the earliest if several wait.
std::string sleepingUntil(std::int64_t unix_ms);
/// Returns the time, or none for any other word.
std::optional<std::int64_t> sleepsUntil(std::string_view word);

/// The path of an effect of a task, or of a task inside it, is "once:TASK:KEY". It is in the root's log, wherever the
/// task is.
inline constexpr std::string_view effect_prefix = "once:";
std::string effectPath(TaskId task, std::string_view key);

}  // namespace stategraph::checkpoint
