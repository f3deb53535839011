#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <stategraph/stream_hub.hpp>

#include "src/stream/visit_reader.hpp"

namespace stategraph::stream {

/// Reads a thread's durable events from its log, a commit at a time. It holds the ids of some of the next commits, and
/// the records of a few. Not safe from several threads.
class LogReader {
public:
    /// A null `core` means a thread whose graph is not available here; names and initial values are then those of its
    /// stored description.
    LogReader(std::shared_ptr<const detail::Core> core, BaseCheckpointSaver& saver, const ThreadId& thread_id,
              const ReadEvents& reads, std::optional<StreamPosition> from);
    LogReader(const LogReader&) = delete;
    LogReader& operator=(const LogReader&) = delete;

    /// Adds the events of the next commit, which may be none, and returns its place; none if there is no next commit.
    /// Commits of graphs inside come before the root's that ended their superstep. With `newest_only`, values and
    /// checkpoints only of the last that is known of, and of what is inside only of the last of each visit. On an error
    /// nothing has changed.
    std::optional<StreamPosition> next(std::deque<Durable>& out, bool newest_only);
    /// Returns whether more commits are known.
    bool hasMore() const noexcept { return !ids_.empty(); }
    const StreamPosition& told() const noexcept { return told_; }
    /// Adds the open questions that it has not given yet.
    void openQuestions(std::deque<Durable>& out);

private:
    bool isTold(CheckpointId id) const noexcept;
    void findIds();
    const ListedCheckpoint* row(CheckpointId id);
    std::optional<StreamPosition> nextInside(const ListedCheckpoint& listed, std::deque<Durable>& out, bool shows_state,
                                             bool newest_only);
    void create(const ListedCheckpoint& listed, bool shows_state, std::deque<Durable>& out);
    checkpoint::CommitFields read(const ListedCheckpoint& listed) const;
    LogName log() const noexcept { return {thread_id_.view(), ""}; }

    BaseCheckpointSaver& saver_;
    ThreadId thread_id_;
    ReadEvents reads_;
    StreamPosition told_;
    CommitEvents events_;
    VisitReader visits_;
    CheckpointId visits_of_;        // the root's commit whose superstep `visits_` reads
    std::deque<CheckpointId> ids_;  // oldest first
    std::set<std::pair<TaskId, std::uint64_t>> asked_;
    CheckpointId asked_at_;
};

}  // namespace stategraph::stream
