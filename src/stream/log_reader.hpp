#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/stream_hub.hpp>

#include "checkpoint/fold.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/reading/shown_names.hpp"

namespace stategraph::stream {

/// Returns the sequence number of a checkpoint.
std::int64_t sequenceOf(CheckpointId id) noexcept;

/// A durable event that waits for its subscriber.
struct Durable {
    HubEvent event;
    std::int64_t bound;  // it comes after ephemeral events that are before this position
};

/// Reads a thread's durable events from its log, a commit at a time. It holds the ids of some of the next commits, and
/// the records of a few. Not safe from several threads.
class LogReader {
public:
    /// A null `core` means a thread whose graph is not available here; names and initial values are then those of its
    /// stored description.
    LogReader(std::shared_ptr<const detail::Core> core, BaseCheckpointSaver& saver, const ThreadId& thread_id,
              StreamModes modes, std::optional<StreamPosition> from);

    /// Adds the events of the next commit, of which there may be none, and returns its sequence, or none if there is no
    /// next commit. With `newest_only`, values and checkpoints are added only for the last known commit. An error
    /// changes nothing.
    std::optional<std::int64_t> next(std::deque<Durable>& out, bool newest_only);
    /// Returns whether more commits are known.
    bool hasMore() const noexcept { return !ids_.empty(); }
    StreamPosition told() const noexcept { return told_; }
    /// Adds the open questions that it has not given yet.
    void openQuestions(std::deque<Durable>& out);

private:
    bool isTold(CheckpointId id) const noexcept;
    void findIds();
    const ListedCheckpoint* row(CheckpointId id);
    void readRows();
    void addUpdates(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit, std::deque<Durable>& out);
    bool changesValues(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit) const;
    std::vector<TaskSnapshot> tasksBefore(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit) const;
    std::optional<ListedCheckpoint> parentRow(CheckpointId id) const;
    std::optional<Value> values(CheckpointId id);
    std::vector<engine::DueTask> dueTasks(CheckpointId id, const checkpoint::CommitFields& commit,
                                          const engine::Records& records, bool latest) const;
    void add(StreamEvent event, CheckpointId id, std::uint32_t index, std::deque<Durable>& out) const;
    LogName log() const noexcept { return {thread_id_.view(), ""}; }

    std::shared_ptr<const detail::Core> core_;  // null if there is none
    BaseCheckpointSaver& saver_;
    ThreadId thread_id_;
    StreamModes modes_;
    StreamPosition told_;
    std::deque<CheckpointId> ids_;        // oldest first
    std::vector<ListedCheckpoint> rows_;  // some of those, oldest first, and the commit before them
    std::optional<checkpoint::Lineage> lineage_;
    mutable std::optional<reading::ShownNames> names_;  // used without a core
    std::set<std::pair<TaskId, std::uint64_t>> asked_;
    CheckpointId asked_at_;
};

}  // namespace stategraph::stream
