#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/record.hpp>
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

/// Throws InvalidArgumentError: a copy's target has checkpoints.
[[noreturn]] void refuseCopy(std::string_view from, std::string_view to);

/// Throws InvalidArgumentError if a copy's target has no name.
void checkCopyTarget(std::string_view to);

/// Lists the threads of a query with ListQuery::thread_ids by a query for each of them.
std::vector<ListedCheckpoint> listEach(BaseCheckpointSaver& saver, const ListQuery& query);

/// A commit's place in its log.
struct CommitLinks {
    CheckpointId id;
    CheckpointId parent;
    CheckpointId base;
    CheckpointId root = {};  // RecordLinks::root
    std::size_t bytes = 0;   // the size of its record, for Rewrite::when_it_pays
    /// The same as RecordLinks::visits. Without them a kept checkpoint might not find what a subgraph's log, which
    /// lives with the thread, remembers.
    std::vector<VisitLink> visits = {};
    bool has_all_visits = false;
    std::optional<CheckpointId> around = {};  // RecordLinks::around
};

/// What a prune must know about a log that has commits.
struct LogLinks {
    std::string_view checkpoint_ns;
    /// The whole log, oldest first.
    std::vector<CommitLinks> commits;
    /// The checkpoints whose pending writes hold an open interrupt, in any order.
    std::vector<CheckpointId> interrupted;
    /// For PruneRequest::rewriter.
    std::string_view thread_id = {};
};

/// Throws InvalidArgumentError if the request names no rule, or would keep no commit.
void checkPrune(const PruneRequest& request);

/// Returns a commit's record rewritten so that no older one is needed to read it: with the same id and content, except
/// that its operations produce the values of all channels, the schedule is complete, and it is its own base. The writes
/// of the task that led to it are omitted, because the parent, which shows them, is about to be dropped. `tuple` is as
/// `getTuple` returns it; commits of other branches may be missing. Errors: CorruptCheckpointError if a record is
/// missing, damaged, sealed, or of a later version that says more, or if a list that was never set was both appended to
/// and edited: only the program knows what it holds at first. Cost: that of reading it.
std::string wholeCommit(const LogName& log, CheckpointTuple tuple);

/// The commits of one log that the request's rules for commits (keep_last, older_than) may drop without any rewriting,
/// oldest first.
///
/// `log` is the whole log, oldest first; `interrupted` are the checkpoints whose pending writes hold an open interrupt,
/// in any order. Kept is what any rule of the request keeps, the head, `interrupted`, and for each of them its
/// ancestors back to its base, or to one that is its own base. `PruneRequest::rewrite` is ignored.
/// Cost: n log n. Errors: as `checkPrune`.
std::vector<CheckpointId> droppable(std::span<const CommitLinks> log, std::span<const CheckpointId> interrupted,
                                    const PruneRequest& request);

/// Whether a namespace belongs to one task of the root graph ("node:task" and everything below it), and not to a node
/// in all of a thread ("node").
bool livesForOneTask(std::string_view checkpoint_ns) noexcept;

/// What a prune does to one log.
struct LogPlan {
    /// The commits to drop, oldest first, with their pending writes. If they are all commits of the log, all its
    /// pending writes are dropped.
    std::vector<CheckpointId> dropped;
    /// Commits that replace those with the same ids, oldest first, in the same atomic step. Empty if nothing is
    /// dropped.
    std::vector<StoredCommit> rewritten;
};

/// What a prune does to the logs of one thread.
///
/// For a log that lives with the thread, the rules also keep the commits with which visits from kept checkpoints of the
/// graph around it begin, be it where an earlier visit has left the log or an edit, and the newest commit of each visit
/// that a kept checkpoint of the root's log has begun. If a kept checkpoint begins with an edit, the commits between it
/// and the one at which the edit was made are kept too, because they say that the edit is on its branch. The newest
/// edit that was made when the graph around it had no checkpoint is kept, because that graph may begin anew. A log that
/// lived for one task is dropped as a whole, including its head, when the root's log has continued and no longer keeps
/// that task's checkpoint. All other logs: `droppable`, or with rewriting only what the rules keep. Answers are stored
/// only with the root's task, so a subgraph's question is open only while the root's checkpoint has an open one.
class ThreadPrune {
public:
    /// Returns the bytes of a commit of the log with this namespace.
    using ReadRecord = std::function<std::string(std::string_view checkpoint_ns, CheckpointId)>;
    static constexpr std::size_t rewrite_bytes_max = std::size_t{1} << 30U;

    /// The request must outlive it. A log is not rewritten if a thread's rewritten records would then be read from more
    /// than `bytes_max` bytes in total, because all of them are in memory, and in one atomic write.
    explicit ThreadPrune(const PruneRequest& request, std::size_t bytes_max = rewrite_bytes_max)
        : request_(request), rewrite_bytes_left_(bytes_max) {
        checkPrune(request);
    }

    /// Returns what the prune does to each log. `logs` are all logs of the thread that have commits: the root's first,
    /// if there is one, and each log before the logs inside it ("a" before "a|b"). The order of their names is such an
    /// order. `read` is called for the commits from which the commits to be rewritten are read, if there are any. Its
    /// exceptions pass through, except that a CorruptCheckpointError means that this log is not rewritten. Without
    /// `read` nothing is rewritten. Call it once.
    std::vector<LogPlan> plan(std::span<const LogLinks> logs, const ReadRecord& read);

private:
    using Ids = std::vector<CheckpointId>;

    void noteEdits(const LogLinks& log);
    LogPlan planLog(const LogLinks& log, const ReadRecord& read);
    LogPlan planCommits(const LogLinks& log, std::span<const CheckpointId> waiting, const ReadRecord& read);
    bool isWaiting(const LogLinks& log, CheckpointId interrupted) const noexcept;
    void addVisits(const LogLinks& log, std::vector<CheckpointId>& waiting) const;
    void rememberVisits(const LogLinks& log, const LogPlan& plan);

    const PruneRequest& request_;
    std::size_t rewrite_bytes_left_;
    CheckpointId root_head_;
    std::vector<CheckpointId> root_kept_;
    std::vector<CheckpointId> root_interrupted_;
    // By namespace: what kept checkpoints begin visits with.
    std::map<std::string, Ids, std::less<>> remembered_;
    // By namespace and RecordLinks::around: the newest edit of a log that lives with the thread.
    std::map<std::string, std::map<CheckpointId, CheckpointId>, std::less<>> edits_;
};

/// Whether a thread is in use, for threads_unused_since: it has a due task or an open question, or its newest commit is
/// not older. Call `add` for every log, the root's first, because it has all open questions, including those of
/// subgraphs. Logs of tasks that the root's log has passed do not count.
class ThreadUse {
public:
    explicit ThreadUse(std::chrono::system_clock::time_point since) noexcept : since_(since) {}

    /// `has_open_interrupt` (bool()) is called last, because it may have to read all pending writes of the log.
    template <typename F>
    void add(std::string_view checkpoint_ns, CheckpointId head, const RecordLinks& links, F&& has_open_interrupt) {
        has_commits_ = true;
        if (checkpoint_ns.empty()) root_head_ = head;
        if (is_used_ || isLeftBehind(checkpoint_ns, head, links)) return;
        const bool has_questions = checkpoint_ns.empty() || root_head_.empty();
        is_used_ = head.time() >= since_ || !links.is_finished || (has_questions && has_open_interrupt());
    }
    bool isUsed() const noexcept { return is_used_ || !has_commits_; }

private:
    bool isLeftBehind(std::string_view checkpoint_ns, CheckpointId head, const RecordLinks& links) const noexcept;

    std::chrono::system_clock::time_point since_;
    CheckpointId root_head_;
    bool is_used_ = false;
    bool has_commits_ = false;
};

}  // namespace stategraph::checkpoint
