#pragma once
#include <chrono>
#include <cstddef>
#include <vector>

#include <stategraph/saver_rules.hpp>

#include "storage/memory/memory_thread.hpp"

// What a prune does to a thread in memory. Nothing here locks.
namespace stategraph::checkpoint {

/// Whether nothing has been stored in it since then, nothing is due and nothing is asked.
bool isUnused(Thread& thread, std::chrono::system_clock::time_point since);
/// Whether nothing is due or asked in it. What cannot be read stays.
bool isFinished(Thread& thread);

/// A log and what a prune does to it.
struct LogPrune {
    Log& log;
    std::vector<CommitLinks> commits;
    LogPlan plan;
};

/// Reads all that a prune needs to know; nothing has changed yet.
std::vector<LogPrune> planThread(Thread& thread, const PruneRequest& request);
/// By how many bytes the thread grows at most: whole commits of several branches may hold more than what they were read
/// from.
std::size_t growthOf(const std::vector<LogPrune>& plans);
/// Does it. Returns how many commits went.
std::size_t applyPrune(Thread& thread, const std::vector<LogPrune>& plans);

}  // namespace stategraph::checkpoint
