#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <stategraph/fields.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

namespace stategraph::inspect {

/// What the deletion of a thread removes.
struct DeletionView {
    std::string thread_id;
    /// The newest checkpoint of the root's log; empty if only logs of subgraphs exist.
    std::string newest;
    /// All checkpoints, those of subgraphs included.
    std::uint64_t checkpoints = 0;
    std::uint64_t pending_writes = 0;
    /// The bytes of their records.
    std::uint64_t bytes = 0;
    /// The number of logs of subgraphs, and the namespaces of the first of them.
    std::uint64_t subgraph_logs = 0;
    std::vector<std::string> subgraphs;
    /// The status as `ls` shows it, and the open questions, which nobody can answer any more.
    std::string status;
    std::vector<Value> questions;
    bool deleted = false;
    static constexpr auto fields() {
        return stategraph::fields(
            field("thread_id", &DeletionView::thread_id), field("newest", &DeletionView::newest),
            field("checkpoints", &DeletionView::checkpoints), field("pending_writes", &DeletionView::pending_writes),
            field("bytes", &DeletionView::bytes), field("subgraph_logs", &DeletionView::subgraph_logs),
            field("subgraphs", &DeletionView::subgraphs), field("status", &DeletionView::status),
            field("questions", &DeletionView::questions), field("deleted", &DeletionView::deleted));
    }
};

/// Counts what a deletion removes, and deletes nothing; damaged records are counted too. Errors: NotFound if the thread
/// has no rows; what the saver throws, which an EncryptedSaver does for records that its keys do not open. Cost: reads
/// the thread in pages.
DeletionView previewDeletion(BaseCheckpointSaver& saver, const std::string& thread_id);

}  // namespace stategraph::inspect
