#pragma once
#include <span>
#include <vector>

#include <stategraph/saver.hpp>

namespace stategraph::checkpoint {

/// A commit's place in its log.
struct CommitLinks {
    CheckpointId id;
    CheckpointId parent;
    CheckpointId base;
};

/// Throws InvalidArgumentError if the request asks for nothing or for no commit at all to be kept.
void checkPrune(const PruneRequest& request);

/// The commits of one log that a prune may drop, oldest first.
///
/// `log` is the whole log, oldest first; `interrupted` are the checkpoints whose pending writes hold an open interrupt,
/// in any order. Kept is what any rule of the request keeps, the head, `interrupted`, and for each of them its
/// ancestors back to its base. An ancestor kept for that alone may itself be no longer readable: its own base may be gone.
/// Cost: n log n. Errors: as `checkPrune`.
std::vector<CheckpointId> droppable(std::span<const CommitLinks> log, std::span<const CheckpointId> interrupted,
                                    const PruneRequest& request);

}  // namespace stategraph::checkpoint
