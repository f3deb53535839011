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

#include "checkpoint/fold.hpp"
#include "checkpoint/record_frame.hpp"
#include "src/commit/schedule_fields.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/schedule.hpp"
#include "src/threads/put_queue.hpp"

// Writes supersteps to the log: turns commits and pending writes into records and passes them to the saver according to
// the run's durability. There is one for each namespace of a run.
namespace stategraph::engine {

/// What is the same for all commits of a run in one namespace.
struct LogSettings {
    BaseCheckpointSaver* saver = nullptr;  // null: nothing is stored
    std::string_view thread_id;
    std::string_view checkpoint_ns;
    Durability durability = Durability::async;
    std::string_view metadata = {};                          // a CBOR map, or empty
    std::span<const checkpoint::LoggedParent> parents = {};  // of the enclosing graphs
    std::uint64_t graph = 0;
    std::uint64_t schema = 0;
    const detail::Core* core = nullptr;  // the graph itself, whose description is stored; null: it is not
    Executor* executor = nullptr;
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
    Schedule* schedule = nullptr;            // its changes are logged, and then forgotten
    std::span<const PlannedTask> next = {};  // the plan of `schedule`
    std::string_view writes = {};            // of the one task that led here, a CBOR list; empty: as the operations say
    std::optional<checkpoint::LoggedTook> took = {};
    std::uint64_t attempts = 1;  // of the one task that led here
};

/// It is reused for one run after another, because creating one costs more than a superstep.
class LogWriter {
public:
    LogWriter() noexcept {}  // not defaulted: it need not be filled with zeros first
    explicit LogWriter(const LogSettings& settings) { start(settings); }

    /// Begins for a run; what the settings point at must stay until it ends.
    void start(const LogSettings& settings);
    /// After the run: waits for pending puts, and resets everything except its memory.
    void end() noexcept;

    /// Continues from a checkpoint (null: from nothing); `head` is the log's newest.
    /// Errors: CorruptCheckpointError if a channel that the schema does not have cannot be read.
    void open(CheckpointId head, const checkpoint::Folded* from, const detail::Schema& schema);

    /// The current cost of reading the log, which decides when a commit must hold the whole state.
    struct Account {
        CheckpointId base;
        std::size_t replay_bytes = 0;
        std::size_t state_bytes = 0;
        std::vector<std::size_t> channel_bytes;
        std::vector<std::uint8_t> channel_set;  // whether what the log says of them begins with a whole value
    };
    /// As opening the newest commit would find it. None: the next commit must hold the whole state, or the log has
    /// channels that the program does not know.
    std::optional<Account> account() const;
    /// Continues from a checkpoint that was left at the log's head, without reading it.
    void open(const checkpoint::CommitFields& from, Account account);

    /// The checkpoint that was opened belongs to another log: the next commit is the first of this log, and holds the
    /// whole state.
    void beginAnew() noexcept;

    /// The checkpoint that was opened is to get a sibling: the next commit follows `parent`, and holds the whole state.
    void beginBeside(CheckpointId parent) noexcept {
        stored_ = parent;
        snapshot_forced_ = true;
    }

    bool hasSaver() const noexcept { return settings_.saver != nullptr; }
    /// Whether each superstep's operations are to be logged; else (exit, no saver) only what changed is noted.
    bool logsOperations() const noexcept { return hasSaver() && settings_.durability != Durability::exit; }
    /// Whether the next commit will hold the whole state, because reading has become expensive.
    bool snapshotIsDue() const noexcept;
    /// Makes the next commit hold the whole state, because something changed that no operation describes.
    void forceSnapshot() noexcept { snapshot_forced_ = true; }
    /// The operations of the superstep under way.
    OperationLog& operations() noexcept { return operations_; }
    /// Exit: notes what a closed set of writes is about to change.
    void noteChanges(const State& state, const WriteSet& writes, bool is_step);

    /// The newest stored checkpoint that the run builds on; none at first.
    CheckpointId stored() const noexcept { return stored_; }
    CheckpointId head() const noexcept { return head_; }
    /// What it keeps for the next run.
    std::size_t roomBytes() const noexcept {
        return operations_.entries.capacity() + operations_.sizes.capacity() * sizeof(OperationLog::Size) +
               input_.capacity() + named_writes_.capacity() + record_.text.capacity() + schedule_.roomBytes() +
               account_.channel_bytes.capacity() * sizeof(std::size_t) + with_commit_.rows.capacity() * sizeof(Row) +
               changed_.capacity() * sizeof(Changed);
    }
    /// Of the last commit that was made into a record.
    std::size_t recordBytes() const noexcept { return record_.size; }
    /// What the record of the newest commit begins with: its version and checksum. Empty: it is another run's.
    std::string_view recordFrame() const noexcept {
        if (record_.text.empty() && record_.size > 0) return {record_.frame.data(), record_.frame.size()};
        return std::string_view(record_.text).substr(0, checkpoint::frame_size);
    }

    /// Stores the next checkpoint, or with exit durability keeps it for `flush`.
    /// Errors: ConcurrentUpdateError, SaverError; with async durability perhaps one call later.
    void commit(const CommitStep& step);

    /// Stores a task's record under a checkpoint. `report`: what the thread waits for then, if that is known. Safe from
    /// several threads.
    void putTask(CheckpointId checkpoint_id, std::string_view path, std::string_view record,
                 const ThreadReport& report = {});
    void putTask(CheckpointId checkpoint_id, std::string_view path, std::string&& record,
                 const ThreadReport& report = {});
    /// Stores several at once; an `expected` that does not hold is a ConcurrentUpdateError.
    void putTasks(std::span<const WriteRow> rows, const ThreadReport& report = {});
    /// A task's, but together with the next commit. `outlook`: what the thread waits for after that commit; none: as
    /// the commit says.
    void putTaskWithCommit(CheckpointId checkpoint_id, std::string path, std::string record,
                           std::optional<ThreadOutlook> outlook = {});

    /// Exit: stores the newest checkpoint if there is one to store, and the records kept. `report`: what the thread
    /// waits for then, if something is due.
    void flush(const CommitStep& current, const ThreadReport& report);
    /// Says what the thread waits for, if the pending writes are as `compared`. It is only for the index of threads, so
    /// failures are ignored. Call it after everything is stored.
    void tell(const ThreadReport& report, std::span<const WriteRow> compared) noexcept;
    /// What the last stored request said that the thread waits for.
    ThreadStatus told() const noexcept { return told_.load(std::memory_order_relaxed); }
    /// Whether a pending write of this run could not be stored.
    bool hasLostWrites() const noexcept { return has_lost_writes_.load(std::memory_order_relaxed); }
    /// Returns when everything is stored; reports what went wrong.
    void wait();

private:
    struct Row {
        CheckpointId checkpoint_id;
        std::string path;
        std::string bytes;
    };
    struct Changed {
        bool changed = false;
        bool only_appended = false;
        std::size_t length_before = 0;
    };
    // Room that a buffer keeps for the next run.
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
    std::string_view nameWrites(std::string_view writes);
    std::string encodeUnknown(const checkpoint::FoldedChannel& channel) const;
    void addUnknownChannels(OperationLog& log);
    void keepRow(CheckpointId checkpoint_id, std::string_view path, std::string record) SG_REQUIRES(mutex_);
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
    std::string input_;  // of the newest commit, which START has yet to take
    bool fingerprints_logged_ = false;
    bool snapshot_forced_ = false;
    bool head_has_metadata_ = false;  // the head's commit has the metadata of the settings

    OperationLog operations_;
    checkpoint::CommitFields fields_;
    std::string named_writes_;
    struct Record {
        std::string text;
        std::size_t size = 0;
        std::array<char, checkpoint::frame_size> frame = {};  // of one that the saver took over
        std::size_t whole_size = 0;  // of the last one that held a state, also another run's: the next is expected so
    };
    Record record_;
    ScheduleFields schedule_;

    // Stored channels that this program does not know, as they were when the run began; they never change.
    struct Unknown {
        std::string name;
        std::string entry;  // of a commit's operations
    };
    std::vector<Unknown> unknown_;

    // Exit. The rows that may be stored are those of two checkpoints: the stored one, and the one that the run is at.
    std::vector<Changed> changed_;
    std::uint64_t folds_ = 0;
    std::map<CheckpointId, std::map<std::string, std::string>> kept_rows_
        SG_GUARDED_BY(mutex_);  // by checkpoint, by path

    struct WithCommit {  // to be stored with the next one
        std::vector<Row> rows;
        std::optional<ThreadOutlook> outlook;
    };
    WithCommit with_commit_;
    std::atomic<ThreadStatus> told_ = ThreadStatus::unknown;
    std::atomic<bool> has_lost_writes_ = false;
    std::atomic<bool> keeps_rows_ = false;  // false: kept_rows_ is empty
    detail::Mutex mutex_;
    std::optional<PutQueue> queue_;  // if the saver is slow
};

}  // namespace stategraph::engine
