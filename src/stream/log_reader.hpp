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

/// The number of a checkpoint.
std::int64_t sequenceOf(CheckpointId id) noexcept;

/// An event that waits for its subscriber.
struct Durable {
    HubEvent event;
    std::int64_t bound;  // it comes after ephemeral events that are before this
};

/// Reads a thread's durable events out of its log, a commit at a time. Holds the ids of some of the commits to come,
/// and the records of a few. Not safe from several threads.
class LogReader {
public:
    /// Core null: of a thread whose graph is not here; names and initial values are those of its stored description.
    LogReader(std::shared_ptr<const detail::Core> core, BaseCheckpointSaver& saver, const ThreadId& thread_id,
              StreamModes modes, std::optional<StreamPosition> from);

    /// Adds the events of the next commit, which may be none, and returns its sequence; none if there is no next
    /// commit. With `newest_only`, values and checkpoints only of the last that is known of. On an error nothing has
    /// changed.
    std::optional<std::int64_t> next(std::deque<Durable>& out, bool newest_only);
    /// Whether more commits are known of.
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

    std::shared_ptr<const detail::Core> core_;  // null: there is none
    BaseCheckpointSaver& saver_;
    ThreadId thread_id_;
    StreamModes modes_;
    StreamPosition told_;
    std::deque<CheckpointId> ids_;        // oldest first
    std::vector<ListedCheckpoint> rows_;  // oldest first: some of those, and the one before them
    std::optional<checkpoint::Lineage> lineage_;
    mutable std::optional<reading::ShownNames> names_;  // without a core
    std::set<std::pair<TaskId, std::uint64_t>> asked_;
    CheckpointId asked_at_;
};

}  // namespace stategraph::stream
