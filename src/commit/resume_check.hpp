#pragma once
#include <stategraph/saver.hpp>

#include "checkpoint/due_tasks.hpp"
#include "src/commit/restore.hpp"

// Whether this program can go on with what another version of it stored. One answer for both who ask: a run before it
// writes anything, and checkCompatibility.
namespace stategraph::engine {

/// The superstep that a run is about to go on with, restored.
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
    /// Subgraphs begin afresh instead of going on; those whose log lives with the thread from where this branch left
    /// it.
    bool inner_afresh = false;
    /// For logs that earlier versions stored: they are read as before this (none: now).
    CheckpointId bound = {};
};

/// Reads all that going on needs of tasks' records, payloads and the logs of subgraphs that are due, and keeps nothing.
/// Errors: InvalidArgumentError for a node that is gone, InvalidUpdateError for a channel, CorruptCheckpointError or
/// WrongTypeError for a stored value of another type; each with the names and the log it was met in.
void checkResumption(const Resumption& resumption);

/// The same for a checkpoint of a subgraph's log whose tasks are to run again. False: there is none.
bool checkStop(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log, CheckpointId id);

/// The same for the newest checkpoint of a log, its state and schedule included; an empty log passes.
void checkNewest(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log);

}  // namespace stategraph::engine
