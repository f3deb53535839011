#include "src/reading/join_arrivals.hpp"

#include <algorithm>
#include <string>

#include "src/checkpoint/record.hpp"
#include "src/reading/branch_reader.hpp"

namespace stategraph::reading {

std::vector<std::optional<std::int64_t>> joinArrivals(BaseCheckpointSaver& saver, const LogName& log, CheckpointId id,
                                                      const checkpoint::FoldedJoin& join) {
    const Config from{
        .thread_id = ThreadId(log.thread_id), .checkpoint_id = id, .checkpoint_ns = std::string(log.checkpoint_ns)};
    std::vector<std::optional<std::int64_t>> steps(join.arrived.size());
    // For each source: whether it had arrived at all checkpoints that were read so far.
    std::vector<bool> is_before(join.arrived.size(), true);
    BranchReader branch(saver, from);
    for (int i = 0; i < arrival_commits_max; ++i) {
        const auto listed = branch.next();
        if (!listed) break;
        const auto commit = checkpoint::readCommit({log.thread_id, log.checkpoint_ns, listed->id}, listed->bytes, true);
        const auto logged = std::ranges::find(commit.joins, join.key, &checkpoint::LoggedJoin::key);
        const bool is_whole = commit.base == listed->id;
        if (logged != commit.joins.end() || is_whole) {
            for (std::size_t at = 0; at < steps.size(); ++at) {
                const bool is_there = logged != commit.joins.end() &&
                                      std::ranges::find(logged->arrived, join.arrived[at]) != logged->arrived.end();
                is_before[at] = is_before[at] && is_there;
                if (is_before[at]) steps[at] = commit.step;
            }
        }
        if (commit.parent.empty() || std::ranges::find(is_before, true) == is_before.end()) return steps;
        branch.follow(commit.parent);
    }
    // The branch continues before the oldest checkpoint that was read: these sources may have arrived there.
    for (std::size_t at = 0; at < steps.size(); ++at) {
        if (is_before[at]) steps[at].reset();
    }
    return steps;
}

}  // namespace stategraph::reading
