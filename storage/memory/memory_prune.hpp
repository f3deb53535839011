#pragma once
#include <chrono>
#include <cstddef>
#include <vector>

#include "storage/memory/memory_thread.hpp"
#include "storage/saver/prune_rules.hpp"

// Prunes a thread in memory. It does not lock.
namespace stategraph::checkpoint {

/// Returns whether nothing has been stored in the thread since then, nothing is due and no question is open.
bool isUnused(Thread& thread, std::chrono::system_clock::time_point since);
/// Returns whether nothing in it is due and no question is open. A thread that cannot be read does not count as
/// finished.
bool isFinished(Thread& thread);

/// A log, and how a prune changes it.
struct LogPrune {
    Log& log;
    std::vector<CommitLinks> commits;
    LogPlan plan;
};

/// Reads everything that a prune needs, and changes nothing.
std::vector<LogPrune> planThread(Thread& thread, const PruneRequest& request);
/// Returns the largest number of bytes by which the thread may grow: whole commits of several branches may hold more
/// than the commits from which they were read.
std::size_t growthOf(const std::vector<LogPrune>& plans);
/// Prunes the thread. Returns how many commits were removed.
std::size_t applyPrune(Thread& thread, const std::vector<LogPrune>& plans);

}  // namespace stategraph::checkpoint
