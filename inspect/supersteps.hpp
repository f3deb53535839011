#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/timeline.hpp>

// A log as its supersteps: what ran, how long each task took, what it wrote, and what is due next. `log`, the timeline
// of the page and its JSON show these rows.
namespace stategraph::inspect {

/// A channel that was written, with the size of what was written.
struct Written {
    std::string channel;
    std::size_t bytes = 0;
    friend bool operator==(const Written&, const Written&) = default;
};

/// A task of a superstep, without values.
struct StepTask {
    /// `input`, `result`, and the values of questions are null.
    TaskSnapshot task;
    std::vector<Written> wrote;
};

/// A checkpoint, and the superstep that led to it.
struct Superstep {
    TimelineEntry entry;
    /// How many supersteps its commit covers: more than one with durability `exit`, and then `ran` is empty.
    std::uint64_t supersteps = 1;
    /// The tasks that led to the checkpoint. Empty for an input, an edit or a fork, and if the log does not contain the
    /// checkpoint before, or it cannot be read.
    std::vector<StepTask> ran = {};
    /// The tasks that are due, if no superstep of this page continues the checkpoint.
    std::vector<StepTask> due = {};
    /// The channels that the tasks, the input or the edit wrote, by name.
    std::vector<Written> wrote = {};
};

/// Which supersteps of a log to list. Empty texts select all.
struct SuperstepQuery {
    CheckpointId before = {};
    std::size_t limit = 100;
    /// Selects supersteps in which this node ran or, at the end of a branch, is due.
    std::string node = {};
    /// A word of `superstep_statuses`.
    std::string status = {};
    /// Selects supersteps whose nodes, channels or errors contain this text, without regard to the case of ASCII.
    std::string text = {};
    /// With a selection, at most this many checkpoints of the log are looked at.
    std::size_t entries_max = 10'000;
    /// The page ends after the row with which it has looked at so many tasks, or so many bytes of records.
    std::size_t tasks_max = 100'000;
    std::size_t bytes_max = std::size_t(64) << 20U;
};

/// failed: a task failed, also if it succeeded later; retried: its node was called more than once; asked: it asked a
/// question; unfinished: tasks are due and no superstep continues them; the others are sources of checkpoints.
inline constexpr const char* superstep_statuses[] = {"failed", "retried", "asked", "unfinished",
                                                     "input",  "update",  "fork"};

struct SuperstepPage {
    std::vector<Superstep> rows;  // the newest first
    /// Where to continue (as `before`); empty at the end of the log.
    CheckpointId next = {};
};

/// The next greater id: the checkpoints before it are this one and those that are older.
CheckpointId justAfter(CheckpointId id);

/// Reads a page of a log. Nodes have the names that the stored description of the graph gives them. Errors:
/// InvalidArgumentError for a status that does not exist; those of readTimeline. Cost: reading the page's records
/// twice, and a record for each checkpoint whose parent is not in the page.
SuperstepPage readSupersteps(BaseCheckpointSaver& saver, const Config& log, const SuperstepQuery& query);

}  // namespace stategraph::inspect
