#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver_rules.hpp>

#include "src/checkpoint/commit_links.hpp"

// What a prune may drop, of links that savers have read. Savers outside the library give their rows to ThreadRows.
namespace stategraph::checkpoint {

/// Whether the request has a rule for commits, and not only for whole threads.
bool dropsCommits(const PruneRequest& request) noexcept;

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

/// The commits of one log that the request's rules for commits (keep_last, older_than) may drop without any rewriting,
/// oldest first.
///
/// `log` is the whole log, oldest first; `interrupted` are the checkpoints whose pending writes hold an open interrupt,
/// in any order. Kept is what any rule of the request keeps, the head, `interrupted`, and for each of them its
/// ancestors back to its base, or to one that is its own base. `PruneRequest::rewrite` is ignored.
/// Cost: n log n. Errors: as `checkPrune`.
std::vector<CheckpointId> droppable(std::span<const CommitLinks> log, std::span<const CheckpointId> interrupted,
                                    const PruneRequest& request);

/// What a prune does to the logs of one thread. Commits that the request names are dropped, and nothing else.
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
    using ReadRecord = ThreadRows::ReadRecord;
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
