#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/stream_hub.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/reading/shown_names.hpp"

namespace stategraph::stream {

/// The virtual node that takes a run's input, of which nothing is told.
inline constexpr std::string_view start_name = "__start__";

/// The number of a checkpoint.
std::int64_t sequenceOf(CheckpointId id) noexcept;
/// When a checkpoint was made, to the microsecond.
std::chrono::system_clock::time_point timeOf(CheckpointId id) noexcept;

/// A log, and its graph.
struct EventLog {
    std::shared_ptr<const detail::Core> core;  // null: the graph is not here
    std::string ns = {};
};

/// The superstep that led to a commit. Its members refer to each other.
struct LedTo {
    LedTo() = default;
    LedTo(const LedTo&) = delete;
    LedTo& operator=(const LedTo&) = delete;

    CheckpointId commit;
    ListedCheckpoint row;  // the checkpoint that its tasks were due at
    checkpoint::CommitFields before;
    engine::Records records;
    std::vector<engine::DueTask> due;
    std::vector<TaskSnapshot> tasks;  // as `due`, with what they wrote
};

/// Creates the durable events of a log's commits. Not safe from several threads.
class CommitEvents {
public:
    /// `saver` must outlive it.
    CommitEvents(EventLog log, BaseCheckpointSaver& saver, const ThreadId& thread_id, StreamModes modes);

    const EventLog& log() const noexcept { return log_; }
    LogName name() const noexcept { return {thread_id_.view(), log_.ns}; }

    /// Some commits with their pending writes, oldest first: those whose events are created next, and those before.
    void setRows(std::vector<ListedCheckpoint> rows);
    /// Null: it is not among them.
    const ListedCheckpoint* row(CheckpointId id) const noexcept;
    /// Releases what the last states were read from.
    void forgetStates() noexcept { lineage_.reset(); }

    /// The tasks whose superstep led to a commit, with what they wrote: in their records, or if there was one, in the
    /// commit. Null where that is not known: its checkpoint was pruned, or the commit covers several supersteps. Until
    /// the next call.
    const LedTo* ledTo(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit);
    /// Calls `take(event, index)` for each event of a commit. `shows_state`: also for values and checkpoints.
    using Take = std::function<void(StreamEvent&& event, std::uint32_t index)>;
    void create(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit, bool shows_state,
                const Take& take);

    /// The tasks of a checkpoint, with their nodes' names as users know them.
    std::vector<engine::DueTask> dueTasks(CheckpointId id, const checkpoint::CommitFields& commit,
                                          const engine::Records& records, bool latest);
    /// A description of the graph, where it is not here and a description is stored. After `ledTo` or `dueTasks`.
    const GraphDescription* description() const noexcept {
        return names_ && names_->graph() ? &*names_->graph() : nullptr;
    }

private:
    bool isInside() const noexcept { return !log_.ns.empty(); }
    bool isReturned(std::string_view channel) const;
    Value returned(const Value& written) const;
    StreamEvent make(StreamMode mode, std::int64_t step) const;
    std::optional<ListedCheckpoint> parentRow(CheckpointId id) const;
    std::vector<TaskSnapshot> takenTasks(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit);
    bool changesValues(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit);
    void addUpdates(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit, const Take& take);
    Value checkpointOf(CheckpointId id, const checkpoint::CommitFields& commit, const Value& state);
    std::optional<Value> values(CheckpointId id);

    EventLog log_;
    BaseCheckpointSaver& saver_;
    ThreadId thread_id_;
    StreamModes modes_;
    std::vector<std::string> path_;  // the names in the namespace, as events have them
    std::vector<ListedCheckpoint> rows_;
    std::optional<LedTo> led_to_;
    std::optional<checkpoint::Lineage> lineage_;
    std::optional<reading::ShownNames> names_;  // without a core
};

}  // namespace stategraph::stream
