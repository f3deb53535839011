#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// What made a task due.
enum class CauseKind : std::uint8_t {
    input,     // the thread was given input, or the subgraph was visited: START
    edge,      // an edge from a task that ran
    join,      // an edge that waited for several tasks
    router,    // a task's router led here
    go_to,     // a task's Command led here
    route,     // a router or a Command; the log does not say which
    send,      // a Send of a task
    released,  // it was deferred, and nothing else was due
    command,   // a Command that was given to a run
    edit,      // an edit of the state, as a node
    fork,      // as at the checkpoint that was forked; what made it due there follows
    unknown,   // the log does not say; one commit covers several supersteps, or the commit before it was pruned
};
/// The name of a kind, such as "edge".
const char* toString(CauseKind kind) noexcept;

/// A task that made another task due.
struct CauseTask {
    std::string name;
    /// Empty if the task ran in an earlier superstep, or if only its name is known.
    std::string path;
    /// The step of the checkpoint at which a source of a join had arrived. None if that checkpoint was pruned or is
    /// more than 1,000 checkpoints back.
    std::optional<std::int64_t> arrived = {};
};

/// One cause of a due task.
struct Cause {
    CauseKind kind = CauseKind::unknown;
    /// For a join, all its sources; for a Send, its sender; for an edit, the node in whose name it was made; for
    /// `unknown`, the tasks that may have led here.
    std::vector<CauseTask> from;
    /// For a Send: its number among the Sends of its sender, from 0.
    std::optional<std::size_t> index = {};
};

/// A due task with its causes.
struct TaskCauses {
    TaskId id;
    std::string name;
    std::string path;
    /// The causes; there are several if several made the task due in the same superstep.
    std::vector<Cause> causes;
};

/// Returns why the tasks of a checkpoint (none named: the newest) are due. Empty if there is no such
/// checkpoint, or nothing is due. Edges and routers are distinguished by the graph's stored description; without one an
/// edge from the one task that ran is `unknown`.
/// Errors: as `readCheckpoint`. Cost: that of reading the checkpoint and the one before it; for a join, also of the
/// checkpoints back to the first arrival.
std::vector<TaskCauses> readCauses(BaseCheckpointSaver& saver, const Config& config);

}  // namespace stategraph
