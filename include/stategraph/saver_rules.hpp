#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/saver.hpp>

// For authors of savers: what all savers check and refuse, and what a prune may drop. docs/savers.md shows how it is
// used. Functions may be called from any thread; an object may be used by one thread at a time.
namespace stategraph::checkpoint {

/// Throws InvalidArgumentError if the request breaks the contract: no thread, ids that do not ascend from the expected
/// head, a base or parent that is not older, a row of no checkpoint.
void checkPut(const PutRequest& request);

/// Throws ConcurrentUpdateError: the log's head is `actual`.
[[noreturn]] void refuseHead(const LogName& log, CheckpointId expected, CheckpointId actual);

/// Throws ConcurrentUpdateError: the thread no longer has the checkpoint PutRequest::root.
[[noreturn]] void refuseRoot(const PutRequest& request);
/// Throws ConcurrentUpdateError: the commit builds on `gone`, which is no longer in the log.
[[noreturn]] void refuseAncestor(const LogName& log, CheckpointId id, CheckpointId gone);

/// Whether one of the first `count` commits of a request has this id. Ids ascend, as `checkPut` requires.
bool isInRequest(const PutRequest& request, std::size_t count, CheckpointId id) noexcept;

/// The parent that the log must have so that the commit at `place` of the request can be read; none if the commit needs
/// no parent, or if its parent is the head or in the request.
inline CheckpointId neededAncestor(const PutRequest& request, std::size_t place) noexcept {
    const CommitRow& row = request.commits[place];
    const CheckpointId before = place == 0 ? request.expected_head : request.commits[place - 1].id;
    if (row.base == row.id || row.parent.empty() || row.parent == before) return {};
    return row.parent == request.expected_head || isInRequest(request, place, row.parent) ? CheckpointId() : row.parent;
}

/// Refuses commits that could not be read: a run may have begun at an old checkpoint that was pruned since.
/// `exists(CheckpointId)` says whether the log has a commit; it is called if a commit's parent is neither the head nor
/// in the request, which is rare. A parent that exists can be read, and so can the commit: if its base was dropped, a
/// prune has rewritten the parent, or a commit before it, as a whole.
template <class Exists>
void checkAncestors(const PutRequest& request, Exists exists) {
    for (std::size_t place = 0; place < request.commits.size(); ++place) {
        const CheckpointId needed = neededAncestor(request, place);
        if (needed && !exists(needed)) refuseAncestor(request.log, request.commits[place].id, needed);
    }
}

/// Throws ConcurrentUpdateError: the row does not hold what the writer expected (WriteRow::expected).
[[noreturn]] void refuseWrite(const LogName& log, const WriteRow& row);

/// Refuses the write if its row states an expectation and the stored row (none: there is no such row) differs from it.
void checkExpected(const LogName& log, const WriteRow& row, const std::optional<std::string_view>& stored);

/// Refuses a request that does not fit what is stored. It is the last thing that a `put` does before it stores, while no
/// other writer can change the log. `head` is the log's newest commit, or none. `has_commit(const LogName&,
/// CheckpointId)` says whether a log of the thread has a commit; `find_write(const WriteRow&)` returns the bytes of the
/// row with this checkpoint and path, as std::optional. Both are called only for what the request asks. Throws
/// ConcurrentUpdateError.
template <class HasCommit, class FindWrite>
void checkStored(const PutRequest& request, CheckpointId head, HasCommit has_commit, FindWrite find_write) {
    if (head != request.expected_head) refuseHead(request.log, request.expected_head, head);
    if (request.root && !has_commit(LogName{request.log.thread_id}, request.root)) refuseRoot(request);
    for (const std::span<const WriteRow> rows : {request.compared, request.writes}) {
        for (const WriteRow& row : rows) {
            if (row.expected) checkExpected(request.log, row, find_write(row));
        }
    }
    checkAncestors(request, [&](CheckpointId id) { return has_commit(request.log, id); });
}

/// Throws InvalidArgumentError: a copy's target has checkpoints.
[[noreturn]] void refuseCopy(std::string_view from, std::string_view to);

/// Throws InvalidArgumentError if a copy's target has no name.
void checkCopyTarget(std::string_view to);

/// Lists the threads of a query with ListQuery::thread_ids by a query for each of them.
std::vector<ListedCheckpoint> listEach(BaseCheckpointSaver& saver, const ListQuery& query);

/// Throws InvalidArgumentError if the request names no rule, or would keep no commit.
void checkPrune(const PruneRequest& request);

/// Returns a commit's record rewritten so that no older one is needed to read it: with the same id and content, except
/// that its operations produce the values of all channels, the schedule is complete, and it is its own base. The writes
/// of the task that led to it are omitted, because the parent, which shows them, is about to be dropped. `tuple` is as
/// `getTuple` returns it; commits of other branches may be missing. Errors: CorruptCheckpointError if a record is
/// missing, damaged, sealed, or of a later version that says more, or if a list that was never set was both appended to
/// and edited: only the program knows what it holds at first. Cost: that of reading it.
std::string wholeCommit(const LogName& log, CheckpointTuple tuple);

/// What a prune does to one log.
struct LogPlan {
    /// The commits to drop, oldest first, with their pending writes.
    std::vector<CheckpointId> dropped;
    /// Commits that replace those with the same ids, oldest first. Empty if nothing is dropped.
    std::vector<StoredCommit> rewritten;
    std::string checkpoint_ns = {};
    /// Whether `dropped` are all commits of the log: all its pending writes are dropped with them.
    bool is_whole = false;
};

/// What a prune does to one thread, in one atomic step.
struct ThreadPlan {
    /// Drop the thread with all its rows; `logs` is empty then.
    bool drops_thread = false;
    /// The logs of which something is dropped.
    std::vector<LogPlan> logs = {};
    /// How many commits are dropped.
    std::size_t dropped_commits = 0;
};

/// The rows of one thread, from which it is decided what a prune does to the thread. Add all of them, while there is no
/// writer; memory holds what readLinks returns for each commit.
class ThreadRows {
public:
    /// Returns the bytes of a commit of the log with this namespace.
    using ReadRecord = std::function<std::string(std::string_view checkpoint_ns, CheckpointId)>;

    explicit ThreadRows(std::string_view thread_id);
    ThreadRows(const ThreadRows&) = delete;
    ThreadRows& operator=(const ThreadRows&) = delete;
    ~ThreadRows();

    /// Begins a log, whose rows follow. The root's is the first, and each log comes before the logs inside it ("a"
    /// before "a|b"), as in the order of bytes.
    void addLog(std::string_view checkpoint_ns);
    /// Adds a commit, oldest first. Throws CorruptCheckpointError if its links cannot be read.
    void addCommit(CheckpointId id, std::string_view bytes);
    /// Adds a pending write, in any order. Throws CorruptCheckpointError if it cannot be read.
    void addWrite(CheckpointId id, std::string_view path, std::string_view bytes);

    /// Returns what the prune does to the thread. `read` is called for the commits from which the commits to be
    /// rewritten are read, if there are any. Its exceptions pass through, except that a CorruptCheckpointError means
    /// that this log is not rewritten. Without `read` nothing is rewritten. Errors: as `checkPrune`.
    ThreadPlan plan(const PruneRequest& request, const ReadRecord& read) const;

private:
    struct Rows;
    std::unique_ptr<Rows> rows_;
};

/// Prunes the thread of the request, or every thread, and returns how many commits were dropped. `next` returns the
/// first thread after this one (none: the first of all), or none; `prune_thread` prunes one thread in one atomic step,
/// and changes nothing if it throws. A thread that cannot be read is noted (PruneRequest::damaged), unless the request
/// names it. Errors: as `checkPrune`.
std::size_t pruneThreads(const PruneRequest& request,
                         const std::function<std::optional<std::string>(const std::optional<std::string>& last)>& next,
                         const std::function<std::size_t(const std::string& thread_id)>& prune_thread);

}  // namespace stategraph::checkpoint
