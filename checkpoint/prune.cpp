#include "checkpoint/prune.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {

void checkPrune(const PruneRequest& request) {
    if (!request.keep_last && !request.older_than_unix_ms) {
        throw InvalidArgumentError("prune: neither keep_last nor older_than_unix_ms is given; say what may be dropped");
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

}  // namespace stategraph::checkpoint
