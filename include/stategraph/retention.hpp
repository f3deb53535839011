#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/damaged.hpp>
#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// What a saver drops in the background, on a thread of its own that calls `prune` once at the start and then
/// regularly.
///
/// Ages are measured when a prune begins; the rules are those of PruneRequest (stategraph/saver.hpp). At least one of
/// the first three must be given, and kept commits are rewritten only where that pays (Rewrite::when_it_pays).
/// Impossible values throw InvalidArgumentError when the saver is made. Cost of a prune: it reads every thread's
/// commits.
struct RetentionOptions {
    /// Keep this many of the newest commits of each log; at least 1.
    std::optional<std::size_t> keep_last = {};
    /// Drop commits that are older than this; not negative.
    std::optional<std::chrono::milliseconds> older_than = {};
    /// Drop whole threads in which nothing is due and whose newest commit is older than this; not negative.
    std::optional<std::chrono::milliseconds> threads_unused_for = {};
    /// From the end of one prune to the beginning of the next; at least 1 ms.
    std::chrono::milliseconds every = std::chrono::minutes(1);
};

/// What retention has done so far. A prune that fails is reported here and nowhere else; the next one is tried as
/// usual.
struct RetentionReport {
    /// Prunes that have ended, including failed ones.
    std::uint64_t runs = 0;
    std::uint64_t failed_runs = 0;
    /// Commits dropped by all of them.
    std::uint64_t dropped_commits = 0;
    /// The error of the last failed prune; empty if none failed.
    std::string last_error = {};
    /// When the last one ended; none before the first.
    std::optional<std::chrono::system_clock::time_point> last_run_at = {};
    /// Threads that the last prune could not read and left as they are.
    std::vector<DamagedThread> damaged = {};
};

}  // namespace stategraph
