#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>

#include "src/checkpoint/commit_fields.hpp"

namespace stategraph::checkpoint {

// Commits of other branches may lie between a checkpoint and its base. Up to this many rows and bytes are read along
// with the others, which costs less than looking up each one's parent.
inline constexpr std::size_t unseen_rows_max = 64;
inline constexpr std::size_t unseen_bytes_max = std::size_t{64} << 10U;

/// Returns a commit among those of a log, oldest first, or the end if it is not among them.
inline std::vector<StoredCommit>::iterator findCommit(std::vector<StoredCommit>& commits, CheckpointId id) {
    const auto found = std::lower_bound(commits.begin(), commits.end(), id,
                                        [](const StoredCommit& each, CheckpointId wanted) { return each.id < wanted; });
    return found != commits.end() && found->id == id ? found : commits.end();
}

/// Follows parents from a checkpoint to the commit that reading it begins with. `read(CheckpointId)` returns a commit's
/// record, valid until the next call, or none if the log does not have it, which ends the walk. Errors:
/// CorruptCheckpointError for a header that cannot be read.
template <class Read>
void walkToBase(const LogName& log, CheckpointId id, Read read) {
    CheckpointId base;
    for (CheckpointId wanted = id; !wanted.empty();) {
        const std::optional<std::string_view> bytes = read(wanted);
        if (!bytes) return;
        const CommitWay way = readWay({log.thread_id, log.checkpoint_ns, wanted}, *bytes);
        if (wanted == id) base = way.base;
        if (wanted <= base || way.base == wanted || way.parent >= wanted) return;
        wanted = way.parent;
    }
}

/// Reads a long log in its own order, which a store does faster than it follows parents backwards. Of the rows, which
/// come oldest first, it keeps those that lead to the last one.
class ForwardWalk {
public:
    /// `commits` are the rows so far, which have not been checked. `tip` is the checkpoint that is read: its step says
    /// how many rows lead to it, so that a long branch next to a short one is not read. Errors: none.
    ForwardWalk(const LogName& log, const CommitWay& tip, const std::vector<StoredCommit>& commits)
        : log_(log), tip_step_(tip.step) {
        if (commits.empty()) return;
        const auto first = tryReadWay(commits.front().id, commits.front().bytes);
        if (first) limitRows(*first);
        is_over_ = !first || is_over_;
    }

    /// Call it before the log's next row is appended to `commits`. It removes the commits that do not lead to that row;
    /// all ancestors of a commit that stays also stay. Returns false and removes nothing if the row's parent is not
    /// among them, if there are too many rows, or if its header cannot be read; then the rest must be read in another
    /// way. Errors: none.
    bool take(CheckpointId id, std::string_view bytes, std::vector<StoredCommit>& commits) {
        const auto way = is_over_ ? std::nullopt : tryReadWay(id, bytes);
        if (!way) return false;
        if (commits.empty()) {
            limitRows(*way);
            return !is_over_;
        }
        if (++rows_ > rows_max_) return false;
        if (commits.back().id == way->parent) return true;
        const auto parent = findCommit(commits, way->parent);
        if (parent == commits.end()) return false;
        commits.erase(parent + 1, commits.end());
        return true;
    }

private:
    std::optional<CommitWay> tryReadWay(CheckpointId id, std::string_view bytes) const {
        try {
            return readWay({log_.thread_id, log_.checkpoint_ns, id}, bytes);
        } catch (const CorruptCheckpointError&) {
            return std::nullopt;
        }
    }
    // Allows as many rows of other branches as this branch may have.
    void limitRows(const CommitWay& first) {
        is_over_ = !tip_step_ || !first.step || *first.step > *tip_step_;
        if (is_over_) return;
        const std::uint64_t steps = static_cast<std::uint64_t>(*tip_step_) - static_cast<std::uint64_t>(*first.step);
        rows_max_ = std::min(steps, std::numeric_limits<std::uint64_t>::max() / 4) * 2 + unseen_rows_max;
    }

    LogName log_;
    std::optional<std::int64_t> tip_step_;
    std::uint64_t rows_ = 0;
    std::uint64_t rows_max_ = 0;
    bool is_over_ = false;
};

}  // namespace stategraph::checkpoint
