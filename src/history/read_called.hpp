#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <stategraph/detail/core.hpp>

#include "checkpoint/fold.hpp"
#include "src/history/checkpoint_view.hpp"

// Logs of graphs that nodes call. The graph around does not know them, so they are read without their graph: nodes have
// the log's names, values are as stored.
namespace stategraph::engine {

/// A checkpoint of such a log. `subgraphs`: with the logs below it.
SnapshotData readCalled(BaseCheckpointSaver& saver, const Config& config, std::optional<CheckpointTuple> tuple,
                        bool subgraphs, const detail::ValuesOut& out, detail::TypeKey root_type);

/// The tasks of such a checkpoint, named as the log names them.
std::vector<DueTask> calledTasks(const checkpoint::CommitFields& commit, const Records& records, bool latest);

/// The values of such a checkpoint: in the snapshot, and in `out` if it is of a state type. `root_type`: the type of
/// the graph around, which is what `out` has if nobody named one; then values that are of another type are skipped.
void giveCalledValues(std::span<const checkpoint::ChannelPieces> channels, CheckpointId id, SnapshotData& snapshot,
                      const detail::ValuesOut& out, detail::TypeKey root_type);

/// Reads the newest checkpoint of a log.
using ReadLog = std::function<SnapshotData(BaseCheckpointSaver& saver, const Config& config)>;

/// Adds to tasks that are not finished the graphs that their nodes have begun to call. Cost: a listing of the thread's
/// logs. `read`: how those are read; null: as `readCalled` does.
void addCalls(BaseCheckpointSaver& saver, const Config& config, const std::vector<DueTask>& due, SnapshotData& snapshot,
              const ReadLog& read = nullptr);

}  // namespace stategraph::engine
