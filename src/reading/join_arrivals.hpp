#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <stategraph/saver.hpp>

#include "src/checkpoint/fold.hpp"

namespace stategraph::reading {

/// The number of checkpoints of a branch that are read to find out when the sources of a join arrived.
constexpr int arrival_commits_max = 1000;

/// Returns the step of the checkpoint at which each source of `join` arrived, in the order of `join.arrived`. `join` is
/// in its condition at checkpoint `id`. The step is none if the source arrived before the oldest checkpoint that is
/// left of the branch, or before the last `arrival_commits_max`. Errors: CorruptCheckpointError, naming the record.
/// Cost: reads the branch back to the first arrival.
std::vector<std::optional<std::int64_t>> joinArrivals(BaseCheckpointSaver& saver, const LogName& log, CheckpointId id,
                                                      const checkpoint::FoldedJoin& join);

}  // namespace stategraph::reading
