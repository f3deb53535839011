#pragma once
#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/damaged.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/known_graphs.hpp>
#include <stategraph/graph_fingerprint.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/row_bytes.hpp>
#include <stategraph/saver_completion.hpp>
#include <stategraph/status.hpp>
#include <stategraph/thread_hold.hpp>

// This file is longer than other headers, because what a saver implements and what it receives are read together.
namespace stategraph {

/// One log: a thread's root namespace ("") or the namespace of one of its subgraphs.
struct LogName {
    std::string_view thread_id;
    std::string_view checkpoint_ns = {};
};

/// A commit as a saver sees it: a key and bytes. `parent` and `base` repeat what the bytes say, so that a saver can
/// keep them in columns; `base` is the oldest commit that reading this one needs (itself, if it holds a full snapshot).
struct CommitRow {
    CheckpointId id;
    CheckpointId parent = {};
    CheckpointId base;
    std::string_view bytes;
    /// The string that holds a large commit's bytes. A saver may move from it instead of copying the bytes, once
    /// nothing in its `put` can fail any more, if `bytes` still refers to the string. Null: it may not. A saver that
    /// wraps another one and reads `bytes` after the inner `put` passes null.
    std::string* buffer = nullptr;
};

/// A pending write as a saver sees it: the record of one task of a checkpoint's superstep, by the task's path.
struct WriteRow {
    CheckpointId checkpoint_id;
    std::string_view path;
    std::string_view bytes;
    /// If given, the request is refused with ConcurrentUpdateError unless the row holds these bytes now. An empty value
    /// means that the row must not exist.
    std::optional<std::string_view> expected = {};
};

/// What a saver writes atomically: everything or nothing.
struct PutRequest {
    LogName log;
    /// The log's newest commit as the writer knows it, none for an empty log. The saver refuses the request if the head
    /// is different.
    CheckpointId expected_head;
    /// Oldest first; each id is greater than the head's. May be empty, for a request with only pending writes.
    std::span<const CommitRow> commits;
    /// A row replaces the row of the same checkpoint and path.
    std::span<const WriteRow> writes;
    /// Return only when it is on disk (fsync), not only handed to the operating system.
    bool sync = false;
    /// For the thread's own log (namespace ""): what the thread waits for after this request. By default the writer
    /// does not know. Savers with an index of threads keep it in the same atomic write; with neither commits nor writes
    /// it is all that the request stores.
    ThreadOutlook outlook = {};
    /// Pending writes that are compared and not written: the request is refused with ConcurrentUpdateError unless each
    /// row holds its `expected`, which is given; `bytes` is not used.
    std::span<const WriteRow> compared = {};
    /// With an `outlook` that is not `in_flight`: what a search is to find of the thread without reading its checkpoint
    /// (stategraph/thread_summary.hpp), at most `summary_bytes_max` bytes. Savers with an index keep it as it is, in
    /// place of the one before; empty, or with the status `in_flight`: the index has none.
    std::string_view summary = {};
    /// For the first commit of a subgraph's log, and an edit of one that lives with the thread: a checkpoint of the
    /// thread's own log, which a deletion or a prune must not have dropped (ConcurrentUpdateError). None: not asked.
    CheckpointId root = {};
    /// The writes answer questions, or close them: a worker is to look at the thread.
    bool answers = false;
    static constexpr std::size_t summary_bytes_max = 2048;
};

/// A commit as savers return it. The records of commits share their bytes when they are copied.
struct StoredCommit {
    CheckpointId id;
    RowBytes bytes;
};
/// A pending write with its bytes.
struct StoredWrite {
    std::string path;
    std::string bytes;
};

/// Which checkpoint to read.
struct TupleQuery {
    LogName log;
    /// The requested checkpoint; none: the newest (below `before`, if that is given).
    CheckpointId checkpoint_id = {};
    CheckpointId before = {};
};

/// Everything that is needed to read one checkpoint, in one round trip.
struct CheckpointTuple {
    CheckpointId id;
    /// The log's newest commit.
    CheckpointId head;
    /// The commits of the log from the checkpoint's base to the checkpoint, oldest first. Commits of other branches
    /// that lie in between may be included or not. If the base was pruned, the list begins with the oldest remaining
    /// commit that is newer; a commit in between then holds the whole state.
    std::vector<StoredCommit> commits;
    /// The pending writes of the checkpoint, ordered by path.
    std::vector<StoredWrite> writes;
    /// The commit that follows the checkpoint in the log, whatever its parent.
    std::optional<StoredCommit> next;
};

/// Which commits to list.
struct ListQuery {
    /// none: every thread.
    std::optional<std::string> thread_id = {};
    /// none: every namespace. "" is the root's.
    std::optional<std::string> checkpoint_ns = {};
    /// Lists only commits older than this one.
    CheckpointId before = {};
    /// Lists at most this many commits.
    std::optional<std::size_t> limit = {};
    /// Lists only the newest commit of each log (below `before`).
    bool heads = false;
    /// Lists only threads after this one, in the order of listings; together with `limit` this lists all threads in
    /// pages.
    std::optional<std::string> after_thread_id = {};
    /// Whether each commit comes with its pending writes.
    bool with_writes = false;
    /// If not empty: only these threads, in this order, whatever `after_thread_id` says; not with `thread_id`. Only
    /// savers with an index of threads receive such a query.
    std::vector<std::string> thread_ids = {};
};

/// A thread's place in the order of an index.
struct ThreadPlace {
    /// The thread's newest commit. For Status::in_flight, a commit that is at most about a second older.
    CheckpointId since;
    std::string thread_id;
    friend auto operator<=>(const ThreadPlace&, const ThreadPlace&) = default;
};

/// A thread as an index lists it.
struct IndexedThread {
    ThreadPlace place;
    ThreadOutlook outlook;
    /// What the writer gave as PutRequest::summary, if the query asks for it; empty: it gave none. None if the saver
    /// keeps none.
    std::optional<std::string> summary = {};
};

/// Which open threads to list.
struct OpenThreadsQuery {
    /// The statuses; `done` among them has no effect.
    Statuses statuses = Statuses::open();
    /// Lists only threads after this one in the order of listings; none: from the first on.
    std::optional<std::string> after_thread_id = {};
    /// The page has at most this many threads.
    std::size_t limit = 50;
    /// With IndexedThread::summary.
    bool with_summaries = false;
};

/// Which of the newest threads to list.
struct NewestThreadsQuery {
    Statuses statuses = Statuses::indexed();
    /// Lists only threads after this one; none: from the newest on.
    std::optional<ThreadPlace> before = {};
    /// The page has at most this many threads.
    std::size_t limit = 50;
    /// With IndexedThread::summary.
    bool with_summaries = false;
};

/// A sleeping thread and its wake time. They are ordered by time, then by name.
struct DueThread {
    std::chrono::system_clock::time_point due;
    std::string thread_id;
    friend bool operator==(const DueThread&, const DueThread&) = default;
    // Not the compiler's: times of older standard libraries have no <=>.
    friend std::strong_ordering operator<=>(const DueThread& a, const DueThread& b) noexcept {
        if (a.due != b.due) return a.due < b.due ? std::strong_ordering::less : std::strong_ordering::greater;
        return a.thread_id.compare(b.thread_id) <=> 0;
    }
};

/// Which sleeping threads to list.
struct DueThreadsQuery {
    /// Lists only threads whose wake time is not later.
    std::chrono::system_clock::time_point until = std::chrono::system_clock::time_point::max();
    /// Lists only threads after this one; none: from the first on.
    std::optional<DueThread> after = {};
    /// The page has at most this many threads.
    std::size_t limit = 50;
};

/// How many threads an index has of each of its statuses (Statuses::indexed); others must not be asked for.
struct ThreadCounts {
    std::array<std::size_t, indexed_statuses.size()> by_status = {};

    std::size_t& operator[](Status status) noexcept { return by_status[static_cast<std::size_t>(status)]; }
    std::size_t operator[](Status status) const noexcept { return by_status[static_cast<std::size_t>(status)]; }
    std::size_t done() const noexcept { return (*this)[Status::done]; }
    std::size_t open() const noexcept {
        std::size_t count = 0;
        for (const std::size_t each : by_status) count += each;
        return count - done();
    }
};

/// One commit of a listing.
struct ListedCheckpoint {
    std::string thread_id;
    std::string checkpoint_ns;
    CheckpointId id;
    /// The commit's record: `readHeader` (stategraph/record.hpp) reads its header.
    RowBytes bytes;
    std::vector<StoredWrite> writes;
    /// In a list over every thread: why this record, or a pending write of it, cannot be opened; `bytes` and `writes`
    /// are empty then. Savers that return bytes as they are stored never set it.
    std::string damaged = {};
};

/// Whether a prune may rewrite kept commits. A commit holds what changed, so reading a kept commit may need many older
/// ones, back to its base. Rewritten as a whole, under the same id, it needs none of them; its content does not change.
enum class Rewrite : std::uint8_t {
    /// Rewrites whenever that allows other commits to be dropped. Then exactly those commits of each log remain that
    /// the rules of the request keep.
    always,
    /// Rewrites if the log becomes smaller and has grown since the last time by as much as would be rewritten. However
    /// often it is called, it rewrites at most about twice the bytes that were ever put.
    when_it_pays,
    /// Never rewrites: older commits stay as long as a kept one is read from them.
    never,
};

/// Rewrites a kept commit as a whole if the pruning saver cannot do so, because what it stores is encrypted.
class CommitRewriter {
public:
    virtual ~CommitRewriter() = default;
    /// Like `checkpoint::wholeCommit` (stategraph/saver_rules.hpp), but for records in stored form, in the tuple and in
    /// the result. It is called while the saver holds the thread, so it must not call that saver. A
    /// CorruptCheckpointError means that this log is not rewritten.
    virtual std::string wholeCommit(const LogName& log, CheckpointTuple tuple) = 0;
};

/// What a prune drops.
struct PruneRequest {
    /// none: every thread.
    std::optional<std::string> thread_id = {};
    /// Keep this many of the newest commits of each log; at least 1.
    std::optional<std::size_t> keep_last = {};
    /// Drop commits that were made before this time.
    std::optional<std::chrono::system_clock::time_point> older_than = {};
    /// Drop whole threads in which nothing is due, that no queue of workers has, and whose newest commit was made
    /// before this time. Given alone, it leaves other threads as they are.
    std::optional<std::chrono::system_clock::time_point> threads_unused_since = {};
    /// Drop these commits of `thread_id`, by the namespaces of their logs, heads and open questions included, and
    /// nothing else. The only rule of its request (stategraph/take_back.hpp). The index of threads does not change.
    std::map<std::string, std::vector<CheckpointId>, std::less<>> commits = {};
    /// A log is pruned as with `never` if its records cannot be rewritten (they are encrypted, and there is no
    /// `rewriter`), or if the rewritten records would be too much for one atomic write (1 GiB a thread, or a
    /// MemorySaver's limit).
    Rewrite rewrite = Rewrite::always;
    /// Is called in place of `checkpoint::wholeCommit`; null: that function. An EncryptedSaver passes its own to the
    /// inner saver.
    CommitRewriter* rewriter = nullptr;
    /// For a request for every thread: threads that could not be read are added here, and are not changed. Null: they
    /// are only skipped.
    std::vector<DamagedThread>* damaged = nullptr;
};

struct SaverStats;
struct StatsQuery;
struct UnfinishedQuery;
struct UnfinishedThread;

/// Stores threads, as ordered rows of bytes. You can write your own.
///
/// Contract of every method: safe from any thread; all or nothing; an unknown thread is not an error but empty;
/// failures of the storage throw SaverError, unreadable bytes CorruptCheckpointError. The content of a commit never
/// changes after `put`; only a prune may rewrite one as a whole, so that it can be read without others. A log's head is
/// its greatest id. Each call may be a round trip over a network: callers batch.
class BaseCheckpointSaver {
public:
    BaseCheckpointSaver() = default;
    BaseCheckpointSaver(const BaseCheckpointSaver&) = delete;
    BaseCheckpointSaver& operator=(const BaseCheckpointSaver&) = delete;
    virtual ~BaseCheckpointSaver();

    /// Appends commits and stores pending writes if the log's head is still `expected_head`; throws
    /// ConcurrentUpdateError and stores nothing if it is not, or if a commit builds on one that was pruned. One atomic
    /// write.
    virtual void put(const PutRequest& request) = 0;
    /// Stores pending writes alone, with the same check of the head.
    void putWrites(const LogName& log, CheckpointId expected_head, std::span<const WriteRow> writes, bool sync = false);
    /// One checkpoint with everything that reading it needs; none if it does not exist.
    virtual std::optional<CheckpointTuple> getTuple(const TupleQuery& query) = 0;

    /// Checkpoints, newest first within each namespace of each thread. A saver that opens what it returns (an
    /// EncryptedSaver) throws for a record of the query's thread that it cannot open, and marks it as `damaged` where
    /// the query is for every thread.
    virtual std::vector<ListedCheckpoint> list(const ListQuery& query) = 0;
    /// Removes a thread with all its namespaces.
    virtual void deleteThread(std::string_view thread_id) = 0;
    /// Copies a thread with all its namespaces; ids do not change. Throws InvalidArgumentError if `to` has checkpoints.
    virtual void copyThread(std::string_view from, std::string_view to) = 0;

    /// Drops old commits and their pending writes; returns how many commits. Never drops a head or a commit whose
    /// interrupts wait, unless it is named (PruneRequest::commits); a subgraph's log that lived for one task goes with
    /// that task's checkpoint. At least one option must be given, and a commit that either of the first two keeps is
    /// kept. The commits from which a kept commit is read are dropped too if `rewrite` allows to rewrite the kept one;
    /// otherwise they stay. Every kept checkpoint reads as before. A prune is atomic for each thread. A thread that
    /// cannot be read is left as it is: if it was named, this is a CorruptCheckpointError, otherwise the others are
    /// pruned (PruneRequest::damaged).
    virtual std::size_t prune(const PruneRequest& request) = 0;

    /// Calls `take(const ListedCheckpoint&)` for the head of the root log of each thread until it returns false. Reads
    /// `page_size` heads at a time. A head that cannot be opened is marked as `damaged`. Throws SaverError if `list`
    /// does not return correct pages.
    template <class Take>
    void forEachHead(ListQuery query, std::size_t page_size, Take take) {
        query.checkpoint_ns = "";
        query.heads = true;
        query.limit = page_size;
        for (;;) {
            const std::vector<ListedCheckpoint> page = list(query);
            for (const ListedCheckpoint& head : page) {
                if (!take(head)) return;
            }
            if (page.size() < page_size) return;
            nextPage(query, page);
        }
    }

    /// An index of threads, which a saver may keep: what each thread waits for, as its writers have reported
    /// (PutRequest::outlook). The four functions return none if the saver keeps no index, or if a database of an older
    /// version without an index is open read-only; callers then read every thread. Threads without a commit in their
    /// own log are not in it. It is a hint: callers read the newest checkpoint of a thread before they rely on it.
    ///
    /// The open threads, that is, those not known to be finished, in the order of listings. Cost: what is returned.
    virtual std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query);
    /// The newest threads first. One that is written to meanwhile may be there twice or not at all. Cost: the result's.
    virtual std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query);
    /// The sleeping threads, in the order of their wake times. Cost: in proportion to the result.
    virtual std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query);
    /// The number of threads of each status, counted up to `most`. Cost: a short step for each that is counted.
    virtual std::optional<ThreadCounts> countThreads(std::size_t most);

    /// Threads whose newest checkpoint has pending work, with the reason (stategraph/unfinished.hpp). A thread that
    /// cannot be read is among them, as Status::damaged, and stops nothing. Reads the newest checkpoints of open
    /// threads, in pages, and reports to the saver where its index is wrong; so a thread that was finished, and then
    /// was damaged, is not among them. For one reason alone it reads threads of that status and of
    /// `in_flight`. If the saver has no index, it reads those of all threads.
    std::vector<UnfinishedThread> unfinishedThreads();
    std::vector<UnfinishedThread> unfinishedThreads(const UnfinishedQuery& query);

    /// Keeps the description of a graph (stategraph/graph_description.hpp) under its fingerprint, and replaces an
    /// earlier one. It belongs to no thread. A saver that keeps none does nothing; tools then know less.
    virtual void putGraph(const GraphFingerprint& fingerprint, std::string_view bytes);
    /// The description that `putGraph` kept; none if there is none.
    virtual std::optional<std::string> getGraph(const GraphFingerprint& fingerprint);
    /// For the library: which descriptions this object has already kept.
    detail::KnownGraphs& knownGraphs() noexcept { return known_graphs_; }

    /// How many bytes everything takes, in memory or on disk; none if the saver does not know.
    virtual std::optional<std::uint64_t> storedBytes() { return {}; }

    /// How many bytes are used, and for what (stategraph/stats.hpp); without a query, of everything.
    SaverStats stats(const StatsQuery& query);
    SaverStats stats();

    /// Whether `put` without `sync` may take so long (a network) that async durability should call it elsewhere.
    virtual bool putIsSlow() const noexcept { return true; }

    /// Whether `tryHold` keeps other processes from running a thread. If not, each commit decides between them.
    virtual bool holdsThreads() const noexcept { return false; }
    /// Takes the right to run a thread, which a process that ends gives back. Null: another saver object has it.
    virtual std::unique_ptr<ThreadHold> tryHold(std::string_view thread_id);

    /// Whether `asyncPut` and `asyncGetTuple` return before the storage has answered; always the same. Awaited runs
    /// then call them, so that no thread waits, and blocking runs with async durability do.
    virtual bool answersLater() const noexcept { return false; }
    /// Like `put` and `getTuple`, but they tell the completion the end instead of waiting for it
    /// (stategraph/saver_completion.hpp has the contract). By default they call `put` and `getTuple`.
    virtual void asyncPut(const PutRequest& request, PutCompletion& completion) noexcept;
    virtual void asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept;
    /// If `answersLater`: how many supersteps a run with async durability may be ahead of what is stored; at least 1,
    /// always the same. Commits that come while a put is under way are one put. If the process dies, they run again.
    virtual std::size_t commitsAhead() const noexcept { return 1; }

private:
    static void nextPage(ListQuery& query, const std::vector<ListedCheckpoint>& page);

    detail::KnownGraphs known_graphs_;
};

}  // namespace stategraph
