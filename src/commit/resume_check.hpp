#pragma once
#include <stategraph/saver.hpp>

#include "checkpoint/due_tasks.hpp"
#include "src/commit/restore.hpp"

// Checks whether this program can resume what another version of it stored. Used by a run before it writes anything,
// and by checkCompatibility.
namespace stategraph::engine {

/// The restored superstep from which a run is about to resume.
struct Resumption {
    const detail::Core& core;
    BaseCheckpointSaver& saver;
    LogName log;
    CheckpointId checkpoint_id;
    std::int64_t step;  // of its tasks
    const State& state;
    const Schedule& schedule;  // both with what a Command added to it
    const checkpoint::Records& records;
    /// All its tasks run again, and what they wrote before does not matter.
    bool reruns = false;
    /// Subgraphs begin with a new state instead of resuming; those whose log lives with the thread begin where this
    /// branch left it.
    bool inner_afresh = false;
    /// For logs that earlier versions stored: they are read as before this (none: now).
    CheckpointId bound = {};
};

/// Reads the task records, payloads and logs of due subgraphs that resuming needs, and keeps nothing. Errors:
/// InvalidArgumentError for a node that no longer exists, InvalidUpdateError for a channel, CorruptCheckpointError or
/// WrongTypeError for a stored value of another type; each with the names and the log it was met in.
void checkResumption(const Resumption& resumption);

/// The same for a checkpoint of a subgraph's log whose tasks are to run again. False: there is none.
bool checkStop(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log, CheckpointId id);

/// The same for the newest checkpoint of a log, its state and schedule included; an empty log passes.
void checkNewest(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log);

}  // namespace stategraph::engine
