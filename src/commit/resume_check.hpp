#pragma once
#include <stategraph/saver.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/commit/restore.hpp"

// Checks whether this program can resume what another version of it stored. A run calls it before it writes anything,
// and so does checkCompatibility.
namespace stategraph::engine {

/// The restored superstep from which a run is about to resume.
struct Resumption {
    const detail::Core& core;
    BaseCheckpointSaver& saver;
    LogName log;
    CheckpointId checkpoint_id;
    std::int64_t step;  // the step of its tasks
    const State& state;
    const Schedule& schedule;  // both include what a Command added to the superstep
    const checkpoint::Records& records;
    /// If true, all its tasks run again, and what they wrote before does not matter.
    bool reruns = false;
    /// If true, subgraphs begin with a new state instead of resuming; those whose log lives with the thread begin where
    /// this branch left it.
    bool inner_afresh = false;
    /// For logs that earlier versions stored: they are read as they were before this checkpoint. None means as they are
    /// now.
    CheckpointId bound = {};
};

/// Reads the task records, payloads and logs of due subgraphs that resuming needs, and keeps nothing. Errors:
/// InvalidArgumentError for a node that no longer exists, InvalidUpdateError for a channel that no longer exists,
/// CorruptCheckpointError or WrongTypeError for a stored value of another type. Each names the parts and the log in
/// which it was found.
void checkResumption(const Resumption& resumption);

/// Checks a checkpoint of a subgraph's log whose tasks are to run again. Returns false if it does not exist.
bool checkStop(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log, CheckpointId id);

/// Checks the newest checkpoint of a log, including its state and schedule. An empty log passes.
void checkNewest(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log);

}  // namespace stategraph::engine
