#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "storage/memory/memory_impl.hpp"

// Answers queries of the memory saver's index of threads. Each shard provides its first threads, which include the
// first of all.
namespace stategraph {

namespace {

using checkpoint::Thread;
using Shard = checkpoint::MemoryShard;

IndexedThread shown(const Thread& thread, bool with_summary) {
    IndexedThread indexed{{thread.index.since, thread.name}, thread.index.outlook()};
    if (with_summary) indexed.summary = thread.summary;
    return indexed;
}

}  // namespace

std::optional<std::vector<IndexedThread>> MemorySaver::openThreads(const OpenThreadsQuery& query) {
    std::vector<IndexedThread> open;
    if (query.limit == 0) return open;
    for (Shard& shard : impl_->shards) {
        const detail::LockGuard lock(shard.mutex);
        for (const ThreadStatus status : all_thread_statuses) {
            if (!query.statuses.has(status)) continue;
            std::size_t left = query.limit;
            const std::string* const after = query.after_thread_id ? &*query.after_thread_id : nullptr;
            shard.index.forEachOpen(status, after, [&](const Thread& thread) {
                open.push_back(shown(thread, query.with_summaries));
                return --left > 0;
            });
        }
    }
    std::ranges::sort(open, checkpoint::BySizeThenText(),
                      [](const IndexedThread& thread) -> std::string_view { return thread.place.thread_id; });
    if (open.size() > query.limit) open.resize(query.limit);
    return open;
}

std::optional<std::vector<IndexedThread>> MemorySaver::newestThreads(const NewestThreadsQuery& query) {
    std::vector<IndexedThread> newest;
    if (query.limit == 0) return newest;
    for (Shard& shard : impl_->shards) {
        const detail::LockGuard lock(shard.mutex);
        for (const ThreadStatus status : all_thread_statuses) {
            if (!query.statuses.has(status)) continue;
            std::size_t left = query.limit;
            shard.index.forEachNewest(status, query.before ? &*query.before : nullptr, [&](const Thread& thread) {
                newest.push_back(shown(thread, query.with_summaries));
                return --left > 0;
            });
        }
    }
    std::ranges::sort(newest, std::ranges::greater{}, &IndexedThread::place);
    if (newest.size() > query.limit) newest.resize(query.limit);
    return newest;
}

std::optional<std::vector<DueThread>> MemorySaver::dueThreads(const DueThreadsQuery& query) {
    std::vector<DueThread> due;
    if (query.limit == 0) return due;
    for (Shard& shard : impl_->shards) {
        const detail::LockGuard lock(shard.mutex);
        std::size_t left = query.limit;
        shard.index.forEachDue(query.after ? &*query.after : nullptr, [&](const Thread& thread) {
            const auto time = stategraph::times::ofUnixMs(thread.index.due_ms);
            if (time > query.until) return false;
            due.push_back({time, thread.name});
            return --left > 0;
        });
    }
    std::ranges::sort(due);
    if (due.size() > query.limit) due.resize(query.limit);
    return due;
}

std::optional<ThreadCounts> MemorySaver::countThreads(std::size_t most) {
    ThreadCounts counts;
    for (Shard& shard : impl_->shards) {
        const detail::LockGuard lock(shard.mutex);
        for (const ThreadStatus status : all_thread_statuses) {
            std::size_t& count = counts[status];
            if (count >= most) continue;
            shard.index.forEachNewest(status, nullptr, [&](const Thread&) { return ++count < most; });
        }
    }
    return counts;
}

}  // namespace stategraph
