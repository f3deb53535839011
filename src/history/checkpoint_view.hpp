#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/detail/core.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/checkpoint/fold.hpp"
#include "src/graph/core.hpp"
#include "src/superstep/apply.hpp"

// Shows a stored checkpoint as a snapshot: its tasks by name, with the content of their records and of the next commit.
// It needs the graph only for the names of nodes, so threads of other versions of a program can be read too.
namespace stategraph::engine {

using checkpoint::DueTask;
using checkpoint::findRecord;
using checkpoint::readRecords;
using checkpoint::Records;

/// Returns the tasks that are due at a checkpoint: triggered ones sorted by name, then sends. With `latest`, it
/// includes the tasks that a Command added. Nodes that the graph does not have keep the log's name.
std::vector<DueTask> dueTasks(const Topology& topology, const checkpoint::CommitFields& commit, const Records& records,
                              bool latest);

/// Returns everything of a snapshot except the values. `follower` is the next commit in the log, if known.
SnapshotData describe(const LogName& log, const checkpoint::CommitFields& commit, const std::vector<DueTask>& tasks,
                      bool latest, const std::optional<StoredCommit>& follower);

/// For a subgraph's checkpoint: leaves open only those questions that can be answered. Answers are stored with the
/// root's task, which decides what is open; the subgraph's own record does not say that a question was answered. Reads
/// the root's checkpoint if any question looks open.
void closeAnswered(BaseCheckpointSaver& saver, const LogName& log, const checkpoint::CommitFields& commit,
                   SnapshotData& snapshot);

/// Shows whether the thread was cancelled at the checkpoint. If it was, a snapshot that is shown as the `latest` has no
/// due tasks and no questions.
void showCancel(const Records& records, bool latest, SnapshotData& snapshot);

/// Returns {channel: value} of the channels that are set. `bytes_expected` is the number of bytes to reserve.
Value valuesOf(const State& state, std::size_t bytes_expected = 0);

/// Returns a stored duration as snapshots show it. One that is too long becomes the longest that they can show.
std::chrono::microseconds shownUs(std::uint64_t us);

/// Reads metadata from a commit, where it is a CBOR map.
Metadata readMetadata(std::string_view cbor);

}  // namespace stategraph::engine
