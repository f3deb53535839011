#pragma once
#include <optional>

#include <stategraph/config.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/snapshot.hpp>

// Threads read without the graph that made them: for tools, tests and programs of other versions. The graph's own
// `getState` and `getStateHistory` know types; these functions show values as they are stored.
namespace stategraph {

/// What readCheckpoint reads.
struct ReadOptions {
    /// If off, `values_as_cbor` stays null, and no time is spent on decoding.
    bool values = true;
    /// Adds the states of subgraphs, and of graphs that nodes called, below tasks that are not finished.
    bool subgraphs = false;
};

/// Returns a checkpoint with everything that a snapshot has; without `config.checkpoint_id`, the newest of its log.
/// None if the log has no checkpoints, or not this one.
///
/// It differs from `getState` in what only the graph knows. Values are those that the checkpoint was stored with: what
/// finished tasks of an unfinished superstep wrote is in their `result` and not yet in the values. Names of nodes and
/// initial values of channels are those of the graph's stored description (graph_description.hpp); without one, nodes
/// have the log's names, channels without a write are missing, and lists and maps are taken to have begun empty. The
/// states of subgraphs that live with the thread (PER_THREAD, perThread) are read by their own namespace. Errors:
/// InvalidArgumentError without a thread; CorruptCheckpointError for records that are damaged, of a later format, or
/// sealed (read those through an EncryptedSaver); what the saver throws. Cost: that of `getState`. May be called from
/// any thread.
std::optional<SnapshotData> readCheckpoint(BaseCheckpointSaver& saver, const Config& config,
                                           const ReadOptions& options = {});

}  // namespace stategraph
