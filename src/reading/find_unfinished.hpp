#pragma once
#include <vector>

#include <stategraph/unfinished.hpp>

namespace stategraph::checkpoint {

/// Does the same as BaseCheckpointSaver::unfinishedThreads, among the open threads with these statuses. If the saver
/// has no index, it searches all threads.
std::vector<UnfinishedThread> findUnfinished(BaseCheckpointSaver& saver, const UnfinishedQuery& query,
                                             Statuses statuses);

}  // namespace stategraph::checkpoint
