#pragma once
#include <optional>
#include <string_view>

#include <stategraph/status.hpp>

#include "src/checkpoint/task_fields.hpp"

// How a thread stands: what the record of its last run says, or else the records of the tasks that are due.
namespace stategraph::checkpoint {

/// Returns whether the record of a run that ends so has the word of the status (toString), which says it by itself.
bool isNoted(Status status) noexcept;

/// Returns what the record of the last run at a checkpoint (run_path) says by itself, or none if its tasks' records
/// decide. One of a failure that has an error is that of a superstep that failed as a whole. A word of a later version
/// says nothing.
std::optional<ThreadOutlook> outlookOfRun(const TaskFields& run);

/// How the tasks stand that are due and have not finished.
struct OpenTasks {
    bool any_failed = false;
    bool any_asks = false;
    /// True if one has neither failed nor asked: a run executes it.
    bool any_waits = false;

    /// Returns what follows from them if the record of the last run, with this word, says nothing by itself.
    Status status(std::string_view run_word) const noexcept;
};

}  // namespace stategraph::checkpoint
