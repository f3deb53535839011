#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/detail/core.hpp>

#include "checkpoint/due_tasks.hpp"
#include "checkpoint/fold.hpp"
#include "src/graph/core.hpp"
#include "src/superstep/apply.hpp"

// A stored checkpoint as a snapshot shows it: its tasks by name, with the content of their records and of the next
// commit. It needs the graph only for the names of nodes, so threads of other versions of a program can be read too.
namespace stategraph::engine {

using checkpoint::DueTask;
using checkpoint::findRecord;
using checkpoint::readRecords;
using checkpoint::Records;

/// The tasks due at a checkpoint, triggered ones by name, then sends. `latest`: with those that a Command added. Nodes
/// that the graph does not have keep the log's name.
std::vector<DueTask> dueTasks(const Topology& topology, const checkpoint::CommitFields& commit, const Records& records,
                              bool latest);

/// Everything of a snapshot but the values. `follower` is the commit after it in the log, if known.
SnapshotData describe(const LogName& log, const checkpoint::CommitFields& commit, const std::vector<DueTask>& tasks,
                      bool latest, const std::optional<StoredCommit>& follower);

/// Of a subgraph's checkpoint: leaves open only those questions that can be answered. Answers are stored with the
/// root's task, which decides what is open; the subgraph's own record does not say that a question was answered. Reads
/// the root's checkpoint if anything looks open.
void closeAnswered(BaseCheckpointSaver& saver, const LogName& log, const checkpoint::CommitFields& commit,
                   SnapshotData& snapshot);

/// Whether the thread was cancelled at the checkpoint; nothing is due and nothing asked then in what is shown as the
/// `latest`.
void showCancel(const Records& records, bool latest, SnapshotData& snapshot);

/// {channel: value} of what is set. `bytes_expected`: the number of bytes to reserve.
Value valuesOf(const State& state, std::size_t bytes_expected = 0);

/// A stored duration as snapshots show it: what is too long for them is the longest one.
std::chrono::microseconds shownUs(std::uint64_t us);

/// Reads metadata from a commit: a CBOR map.
Metadata readMetadata(std::string_view cbor);

}  // namespace stategraph::engine
