#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/saver.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/record_frame.hpp"
#include "src/commit/schedule_fields.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/schedule.hpp"
#include "src/threads/put_queue.hpp"
#include "src/threads/refusal.hpp"

// Writes supersteps to the log: turns commits and pending writes into records and passes them to the saver according to
// the run's durability. There is one for each namespace of a run.
namespace stategraph::engine {

class LogWriter;

/// The settings that are the same for all commits of a run in one namespace.
struct LogSettings {
    BaseCheckpointSaver* saver = nullptr;  // null if nothing is stored
    std::string_view thread_id;
    std::string_view checkpoint_ns;
    Durability durability = Durability::async;
    std::string_view metadata = {};                          // a CBOR map, or empty
    std::span<const checkpoint::LoggedParent> parents = {};  // of the enclosing graphs
    // Of an edit of a log that lives with the thread: CommitFields::around, and the checkpoint of the thread's own log
    // that must still be there, because a prune that did not see the edit may have dropped what leads to it.
    std::optional<CheckpointId> around = {};
    CheckpointId edited_at = {};
    std::uint64_t graph = 0;
    std::uint64_t schema = 0;
    const detail::Core* core = nullptr;  // the graph whose description is stored; null if it is not stored
    Executor* executor = nullptr;
    PutQueue::Watcher* watcher = nullptr;  // learns that commits are stored; may be null
    // Whether the run awaits that its puts are stored (LogWriter::awaitPuts).
    bool is_awaited = false;
    Refusal* refusal = nullptr;  // learns that a put was refused; may be null
    // For the log of a run inside another one: that of the root, under whose newest stored checkpoint it belongs. Null
    // for the root's own log, and for an edit.
    const LogWriter* root = nullptr;
};

/// What a run says of its thread after a put, for the index of threads.
struct ThreadReport {
    ThreadOutlook outlook = {};
    /// The values of the open questions, as CBOR.
    std::span<const std::string_view> questions = {};
    bool knows_questions = true;
};

/// A commit that is about to be created.
struct CommitStep {
    CheckpointId id;
    std::int64_t step = 0;
    Source source = Source::loop;
    const Topology* topology = nullptr;
    const State* state = nullptr;
    Schedule* schedule = nullptr;            // its changes are logged and then forgotten
    std::span<const PlannedTask> next = {};  // the plan of `schedule`
    // The writes of the single task that led here, as a CBOR list; empty if the operations contain them all.
    std::string_view writes = {};
    std::span<const std::uint32_t> write_sizes = {};  // of the parts of `writes`; empty if they are not known
    std::optional<checkpoint::LoggedTook> took = {};
    std::uint64_t attempts = 1;                    // of the single task that led here
    std::optional<std::string_view> failure = {};  // nothing is due, and the run has failed
};

/// A writer is reused for one run after another, because creating one costs more than a superstep.
class LogWriter {
public:
    LogWriter() noexcept {}  // not defaulted, because it need not be filled with zeros first
    explicit LogWriter(const LogSettings& settings) { start(settings); }

    /// Begins for a run. What the settings refer to must exist until the run ends.
    void start(const LogSettings& settings);
    /// Call it after the run. It waits for pending puts, and resets everything except its memory.
    void end() noexcept;

    /// Continues from a checkpoint, or from nothing if `from` is null; `head` is the newest checkpoint of the log.
    /// Errors: CorruptCheckpointError if a channel that the schema does not have cannot be read.
    void open(CheckpointId head, const checkpoint::Folded* from, const detail::Schema& schema);

    /// The current cost of reading the log, which decides when a commit must hold the whole state.
    struct Account {
        CheckpointId base;
        std::size_t replay_bytes = 0;
        std::size_t state_bytes = 0;
        std::vector<std::size_t> channel_bytes;
        std::vector<std::uint8_t> channel_set;  // whether the log's operations for the channel begin with a whole value
    };
    /// Returns the account that opening the newest commit would give. Returns none if the next commit must hold the
    /// whole state, or if the log has channels that the program does not know.
    std::optional<Account> account() const;
    /// Continues from a checkpoint that was left at the log's head, without reading it.
    void open(const checkpoint::CommitFields& from, Account account);

    /// Declares that the checkpoint that was opened belongs to another log: the next commit is the first of this log,
    /// and holds the whole state.
    void beginAnew() noexcept;

    /// Declares that the checkpoint that was opened gets a sibling: the next commit follows `parent`, and holds the
    /// whole state.
    void beginBeside(CheckpointId parent) noexcept {
        stored_ = parent;
        snapshot_forced_ = true;
    }

    bool hasSaver() const noexcept { return settings_.saver != nullptr; }
    /// Returns whether each superstep's operations are logged. If not (exit durability, or no saver), only the changed
    /// channels are noted.
    bool logsOperations() const noexcept { return hasSaver() && settings_.durability != Durability::exit; }
    /// Returns whether the next commit will hold the whole state, because reading has become expensive.
    bool snapshotIsDue() const noexcept;
    /// Makes the next commit hold the whole state, because something changed that no operation describes.
    void forceSnapshot() noexcept { snapshot_forced_ = true; }
    /// Returns the operations of the current superstep.
    OperationLog& operations() noexcept { return operations_; }
    /// With exit durability: notes what a closed set of writes is about to change.
    void noteChanges(const State& state, const WriteSet& writes, bool is_step);

    /// Returns the newest stored checkpoint that the run builds on; there is none at first.
    CheckpointId stored() const noexcept { return stored_; }
    CheckpointId head() const noexcept { return head_; }
    /// Returns the size of the memory that the writer keeps for the next run.
    std::size_t roomBytes() const noexcept {
        return operations_.entries.capacity() + operations_.sizes.capacity() * sizeof(OperationLog::Size) +
               input_.capacity() + named_writes_.capacity() + record_.text.capacity() + schedule_.roomBytes() +
               account_.channel_bytes.capacity() * sizeof(std::size_t) + with_commit_.rows.capacity() * sizeof(Row) +
               changed_.capacity() * sizeof(Changed);
    }
    /// Returns the size of the record of the last commit.
    std::size_t recordBytes() const noexcept { return record_.size; }
    /// Returns the beginning of the newest commit's record, which is its version and checksum. Returns an empty text if
    /// another run stored that commit.
    std::string_view recordFrame() const noexcept {
        if (record_.text.empty() && record_.size > 0) return {record_.frame.data(), record_.frame.size()};
        return std::string_view(record_.text).substr(0, checkpoint::frame_size);
    }

    /// Call it after `start`, for an awaited run: if the saver answers later (BaseCheckpointSaver), no function waits
    /// for a put from then on, except those that say so. The run awaits `queue` instead. Returns whether it does.
    bool awaitPuts();
    bool isAwaited() const noexcept { return settings_.is_awaited; }
    /// Returns whether puts may be under way, so that `wait` may wait.
    bool hasQueue() const noexcept { return queue_.has_value(); }
    /// Returns the puts under way; exists if the run awaits them.
    PutQueue& queue() noexcept { return *queue_; }

    /// Stores the next checkpoint, or with exit durability keeps it for `flush`. Errors: ConcurrentUpdateError and
    /// SaverError; with async durability a later call may throw them.
    void commit(const CommitStep& step);

    /// Stores a row of the superstep that has not ended: a task's record, an effect, how the run stands. `row.expected`
    /// is what this run knows to be there (empty: nothing), so that nothing of another run is replaced unseen. None: it
    /// may be replaced.
    /// `report`: what the thread waits for then, if that is known. Throws ConcurrentUpdateError if another row is
    /// there; an awaited run gets it where it waits. Safe from several threads.
    void putTask(const WriteRow& row, const ThreadReport& report = {});
    /// The same, but always returns when the row is stored.
    void putTaskNow(const WriteRow& row, const ThreadReport& report = {});
    /// Whether an effect's record may be put without waiting for it.
    bool putsEffectsLater() const noexcept { return isAwaited() && settings_.durability != Durability::exit; }
    /// Does that, and tells the listener when the record is stored.
    void putEffectLater(const WriteRow& row, std::shared_ptr<PutQueue::Listener> listener);
    /// Stores answers: all rows or none. Nothing that follows is stored if they are refused.
    void putAnswers(std::span<const WriteRow> rows);
    /// Stores a row together with the next commit. `outlook` is what the thread waits for after that commit; without
    /// it, the commit decides.
    void putTaskWithCommit(const WriteRow& row, std::optional<ThreadOutlook> outlook = {});
    /// Has the next commit that is stored refused unless a row is still as this run has read it (empty: there was
    /// none). It may be called for several rows. The commit holds the result of the row's task, or leaves it out, and
    /// somebody may have answered the task's question meanwhile, or finished it.
    void compareWithCommit(CheckpointId checkpoint_id, std::string_view path, std::string_view expected);

    /// With durability `exit`, stores the newest checkpoint if there is one to store, and the kept records. `report`
    /// says what the thread waits for afterwards if something is due.
    void flush(const CommitStep& current, const ThreadReport& report);
    /// Reports what the thread waits for, if the pending writes still equal `compared`. Only the index of threads uses
    /// this, so failures are ignored. Call it after everything is stored.
    void tell(const ThreadReport& report, std::span<const WriteRow> compared) noexcept;
    /// Returns what the thread waits for according to the last stored request.
    Status told() const noexcept { return told_.load(std::memory_order_relaxed); }
    /// Returns whether a pending write of this run could not be stored.
    bool hasLostWrites() const noexcept {
        return has_lost_writes_.load(std::memory_order_relaxed) || (isAwaited() && queue_->hasFailed());
    }
    /// Returns when everything is stored. Throws the errors of pending puts.
    void wait();
    /// Returns when another commit may be put. Throws the errors of pending puts.
    void waitForRoom();
    /// Returns when all commits are stored. Throws the error of one that failed.
    void waitForCommits();

private:
    void makeQueue();
    struct Row {
        CheckpointId checkpoint_id;
        std::string path;
        std::string bytes;
        std::string expected;
    };
    struct Kept {
        std::string bytes;
        std::string expected;
    };
    struct Changed {
        bool changed = false;
        bool only_appended = false;
        std::size_t length_before = 0;
    };
    // The capacity that a buffer keeps for the next run.
    static constexpr std::size_t kept_bytes_max = std::size_t{64} << 10U;
    struct Extent {
        std::size_t channels = 0;
        std::size_t bytes = 0;
    };

    void encode(const CommitStep& step, std::string& out);
    void encodeLogged(const CommitStep& step, bool snapshot, std::string& out);
    void encodeInPlace(const State& state, bool snapshot, std::string& out);
    void logState(const State& state, bool snapshot);
    void logChanges(const State& state);
    Extent extentOf(const State& state, bool snapshot) const;
    std::string_view nameWrites(const CommitStep& step, bool snapshot);
    std::string encodeUnknown(const checkpoint::FoldedChannel& channel) const;
    void addUnknownChannels(OperationLog& log);
    void keepRow(const WriteRow& row) SG_REQUIRES(mutex_);
    void putRows(std::span<const WriteRow> rows, const ThreadReport& report, PutQueue::Kind kind);
    PutRequest requestOf(const CommitRow* commit, std::span<const WriteRow> rows, std::span<const WriteRow> compared,
                         const ThreadReport& report, std::string& room) const;
    void pass(const PutRequest& request, PutQueue::Kind kind);
    void noteTold(const PutRequest& request) noexcept {
        told_.store(request.outlook.status, std::memory_order_relaxed);
    }
    template <class F>
    auto asRun(F put);
    void putCommit(CheckpointId id, CheckpointId parent, const ThreadReport& report);
    void put(const CommitRow* commit, const ThreadReport& report);
    std::string_view summaryOf(const ThreadReport& report, bool has_commit, std::string& room) const;
    void countSizes(bool snapshot, std::size_t bytes);
    void noteOperation(detail::ChannelIndex channel, checkpoint::LogOp op);
    void dropKeptRows();

    LogSettings settings_;
    CheckpointId head_;
    CheckpointId stored_;
    Account account_;
    std::string input_;  // the input of the newest commit, which START has yet to take
    bool fingerprints_logged_ = false;
    bool snapshot_forced_ = false;
    bool head_has_metadata_ = false;  // the head's commit has the metadata of the settings

    OperationLog operations_;
    checkpoint::CommitFields fields_;
    std::string named_writes_;
    struct Record {
        std::string text;
        std::size_t size = 0;
        std::array<char, checkpoint::frame_size> frame = {};  // of a record that the saver took over
        // Size of the last record that held a state, even if another run wrote it; the next one is expected to be as
        // large.
        std::size_t whole_size = 0;
    };
    Record record_;
    ScheduleFields schedule_;

    // A stored channel that this program does not know, as it was when the run began. It never changes.
    struct Unknown {
        std::string name;
        std::string entry;  // its entry in a commit's operations
    };
    std::vector<Unknown> unknown_;

    // With exit durability: the rows that may be stored are those of two checkpoints: the stored one, and the one that
    // the run has reached.
    std::vector<Changed> changed_;
    std::uint64_t folds_ = 0;
    std::map<CheckpointId, std::map<std::string, Kept, std::less<>>> kept_rows_
        SG_GUARDED_BY(mutex_);  // by checkpoint, by path

    struct WithCommit {  // to be stored with the next one
        std::vector<Row> rows;
        std::vector<Row> compared;
        std::optional<ThreadOutlook> outlook;
    };
    WithCommit with_commit_;
    std::atomic<Status> told_ = Status::in_flight;
    std::atomic<bool> has_lost_writes_ = false;
    std::atomic<bool> keeps_rows_ = false;  // if false, kept_rows_ is empty
    detail::Mutex mutex_;
    std::optional<PutQueue> queue_;  // exists only if the saver is slow, or the run awaits it
};

}  // namespace stategraph::engine
