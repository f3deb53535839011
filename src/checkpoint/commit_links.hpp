#pragma once
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <stategraph/record.hpp>
#include <stategraph/saver_rules.hpp>

// How the commits of a log build on each other, and whose log it is.
namespace stategraph::checkpoint {

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

/// A commit's place, of what readLinks has returned for its record of `bytes` bytes.
inline CommitLinks linksOf(CheckpointId id, const RecordLinks& record, std::size_t bytes) {
    return {id, record.parent, record.base, record.root, bytes, record.visits, record.has_all_visits, record.around};
}

/// Whether a namespace belongs to one task of the root graph ("node:task" and everything below it), and not to a node
/// in all of a thread ("node").
bool livesForOneTask(std::string_view checkpoint_ns) noexcept;

}  // namespace stategraph::checkpoint
