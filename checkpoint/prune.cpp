#include <algorithm>
#include <iterator>

#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>

namespace stategraph::checkpoint {

namespace {

bool hasCommitRules(const PruneRequest& request) noexcept { return request.keep_last || request.older_than_unix_ms; }

// Whether a log is that of a task which the root's log has left behind.
bool isOfPastTask(std::string_view checkpoint_ns, CheckpointId root, CheckpointId root_head) noexcept {
    return livesForOneTask(checkpoint_ns) && !root.empty() && root < root_head;
}

}  // namespace

void checkPrune(const PruneRequest& request) {
    if (!hasCommitRules(request) && !request.threads_unused_since_unix_ms) {
        throw InvalidArgumentError(
            "prune: none of keep_last, older_than_unix_ms and threads_unused_since_unix_ms is given; say what may be "
            "dropped");
    }
    if (request.keep_last && *request.keep_last < 1) {
        throw InvalidArgumentError(
            "prune: keep_last is 0, but a log's newest checkpoint is never dropped; "
            "use at least 1, or deleteThread");
    }
}

std::vector<CheckpointId> droppable(std::span<const CommitLinks> log, std::span<const CheckpointId> interrupted,
                                    const PruneRequest& request) {
    checkPrune(request);
    if (!hasCommitRules(request)) return {};
    std::vector<CheckpointId> waiting(interrupted.begin(), interrupted.end());
    std::sort(waiting.begin(), waiting.end());

    struct Mark {
        bool linked = false;
        CheckpointId reach = {};  // how far back the commits that need this one go; only if linked
    };
    std::vector<Mark> marks(log.size());
    std::vector<CheckpointId> dropped;

    // From the newest on: whoever needs a commit comes before it, so each is settled in one visit.
    for (std::size_t i = log.size(); i-- > 0;) {
        const CommitLinks& commit = log[i];
        const std::size_t newer = log.size() - 1 - i;
        const bool wanted = newer == 0 || (request.keep_last && newer < *request.keep_last) ||
                            (request.older_than_unix_ms && commit.id.unixTimeMs() >= *request.older_than_unix_ms) ||
                            std::binary_search(waiting.begin(), waiting.end(), commit.id);
        if (!wanted && !marks[i].linked) {
            dropped.push_back(commit.id);
            continue;
        }
        CheckpointId reach = marks[i].linked ? marks[i].reach : commit.id;
        if (wanted && !commit.base.empty()) reach = std::min(reach, commit.base);
        if (reach >= commit.id || commit.parent.empty()) continue;
        const auto end = log.begin() + static_cast<std::ptrdiff_t>(i);
        const auto parent = i > 0 && log[i - 1].id == commit.parent
                                ? end - 1
                                : std::lower_bound(log.begin(), end, commit.parent,
                                                   [](const CommitLinks& c, CheckpointId id) { return c.id < id; });
        if (parent == end || parent->id != commit.parent) continue;  // dropped by an earlier prune
        Mark& mark = marks[static_cast<std::size_t>(parent - log.begin())];
        mark.reach = mark.linked ? std::min(mark.reach, reach) : reach;
        mark.linked = true;
    }
    std::reverse(dropped.begin(), dropped.end());
    return dropped;
}

bool livesForOneTask(std::string_view checkpoint_ns) noexcept {
    return checkpoint_ns.substr(0, checkpoint_ns.find('|')).find(':') != std::string_view::npos;
}

bool ThreadPrune::isWaiting(const LogLinks& log, CheckpointId interrupted) const noexcept {
    const auto commit = std::lower_bound(log.commits.begin(), log.commits.end(), interrupted,
                                         [](const CommitLinks& c, CheckpointId id) { return c.id < id; });
    if (commit == log.commits.end() || commit->id != interrupted) return false;
    return commit->root.empty() || commit->root >= root_head_ ||
           std::binary_search(root_interrupted_.begin(), root_interrupted_.end(), commit->root);
}

std::vector<CheckpointId> ThreadPrune::drop(const LogLinks& log) {
    if (!hasCommitRules(request_) || log.commits.empty()) return {};
    if (log.checkpoint_ns.empty()) {
        std::vector<CheckpointId> dropped = droppable(log.commits, log.interrupted, request_);
        root_head_ = log.commits.back().id;
        root_kept_.reserve(log.commits.size() - dropped.size());
        for (const CommitLinks& commit : log.commits) {
            if (!std::binary_search(dropped.begin(), dropped.end(), commit.id)) root_kept_.push_back(commit.id);
        }
        root_interrupted_ = log.interrupted;
        std::sort(root_interrupted_.begin(), root_interrupted_.end());
        return dropped;
    }

    const CheckpointId root = log.commits.back().root;
    if (isOfPastTask(log.checkpoint_ns, root, root_head_) &&
        !std::binary_search(root_kept_.begin(), root_kept_.end(), root)) {
        std::vector<CheckpointId> all;
        all.reserve(log.commits.size());
        for (const CommitLinks& commit : log.commits) all.push_back(commit.id);
        return all;
    }
    std::vector<CheckpointId> waiting;
    std::copy_if(log.interrupted.begin(), log.interrupted.end(), std::back_inserter(waiting),
                 [&](CheckpointId id) { return isWaiting(log, id); });
    return droppable(log.commits, waiting, request_);
}

bool ThreadUse::isLeftBehind(std::string_view checkpoint_ns, CheckpointId head,
                             const RecordLinks& links) const noexcept {
    // A young one counts: its commits are the thread's too.
    return head.unixTimeMs() < since_unix_ms_ && isOfPastTask(checkpoint_ns, links.root, root_head_);
}

}  // namespace stategraph::checkpoint
