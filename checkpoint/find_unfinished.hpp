#pragma once
#include <vector>

#include <stategraph/unfinished.hpp>

namespace stategraph::checkpoint {

/// As BaseCheckpointSaver::unfinishedThreads, among the open threads of these statuses. Of a saver without an index:
/// among all.
std::vector<UnfinishedThread> findUnfinished(BaseCheckpointSaver& saver, const UnfinishedQuery& query,
                                             ThreadStatuses statuses);

}  // namespace stategraph::checkpoint
