#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <stategraph/detail/core.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/history/checkpoint_view.hpp"

// Reads logs of graphs that nodes call. The graph around does not know them, so they are read without their graph:
// nodes have the log's names, and values are as stored.
namespace stategraph::engine {

/// Reads a checkpoint of such a log. With `subgraphs`, it reads the logs below it too.
SnapshotData readCalled(BaseCheckpointSaver& saver, const Config& config, std::optional<CheckpointTuple> tuple,
                        bool subgraphs, const detail::ValuesOut& out, detail::TypeKey root_type);

/// Returns the tasks of such a checkpoint, named as in the log.
std::vector<DueTask> calledTasks(const checkpoint::CommitFields& commit, const Records& records, bool latest);

/// Gives the values of such a checkpoint: in the snapshot, and in `out` if that is of a state type. `root_type` is the
/// type of the graph around, which `out` has if the caller named no type; then values of another type are skipped.
void giveCalledValues(std::span<const checkpoint::ChannelPieces> channels, CheckpointId id, SnapshotData& snapshot,
                      const detail::ValuesOut& out, detail::TypeKey root_type);

/// Reads the newest checkpoint of a log.
using ReadLog = std::function<SnapshotData(BaseCheckpointSaver& saver, const Config& config)>;

/// Adds to unfinished tasks the graphs that their nodes have begun to call. `read` reads their logs; null means
/// `readCalled`. Cost: a listing of the thread's logs.
void addCalls(BaseCheckpointSaver& saver, const Config& config, const std::vector<DueTask>& due, SnapshotData& snapshot,
              const ReadLog& read = nullptr);

}  // namespace stategraph::engine
