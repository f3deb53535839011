#pragma once
#include <string>

#include <stategraph/error.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/snapshot.hpp>

namespace stategraph::engine {

/// Decides for a call that resumes a thread whether it leaves the thread to another process that resumes it too. If
/// several subgraphs, or called graphs, are under way, each process can be the first to commit in the log of another
/// one, and if each ended there, none would reach the end of the superstep. Therefore a run that was too late in a log
/// is resumed, and reads what the others have committed there: each refusal is a commit of another run, so one of them
/// reaches the end. Only in the log that was first when the call began does a call leave the thread to the others: of
/// the calls that began at one checkpoint, one is first there. A run that was too late at the root has always ended.
class RivalRuns {
public:
    /// `at` is the thread's state with its subgraphs, when the call begins.
    explicit RivalRuns(const SnapshotData& at);

    /// Returns whether to resume the thread once more, at `reached`, the checkpoint of the root's log from which the
    /// refused run executed tasks.
    bool resumesAfter(const ConcurrentUpdateError& refused, CheckpointId reached) const;

private:
    CheckpointId begun_at_;
    std::string first_log_;  // empty if it is not known
};

}  // namespace stategraph::engine
