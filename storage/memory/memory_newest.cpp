#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
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

/// How far a shard's threads have been taken, the newest first.
struct Taken {
    std::optional<ThreadPlace> last = {};
    bool is_over = false;
};

// Adds the next `most` threads of a shard, of all statuses that the query names.
void takeNewest(Shard& shard, const NewestThreadsQuery& query, std::size_t most, Taken& taken,
                std::vector<IndexedThread>& newest) {
    std::vector<const Thread*> found;
    const detail::LockGuard lock(shard.mutex);
    for (const Status status : indexed_statuses) {
        if (!query.statuses.has(status)) continue;
        std::size_t left = most;
        shard.index.forEachNewest(status, taken.last ? &*taken.last : nullptr, [&](const Thread& thread) {
            found.push_back(&thread);
            return --left > 0;
        });
    }
    std::ranges::sort(found, [](const Thread* a, const Thread* b) {
        return std::tie(a->index.since, a->name) > std::tie(b->index.since, b->name);
    });
    taken.is_over = found.size() < most;
    if (found.size() > most) found.resize(most);
    for (const Thread* thread : found) newest.push_back(shown(*thread, query.with_summaries));
    if (!found.empty()) taken.last = ThreadPlace{found.back()->index.since, found.back()->name};
}

}  // namespace

std::optional<std::vector<IndexedThread>> MemorySaver::openThreads(const OpenThreadsQuery& query) {
    std::vector<IndexedThread> open;
    if (query.limit == 0) return open;
    for (Shard& shard : impl_->shards) {
        const detail::LockGuard lock(shard.mutex);
        for (const Status status : indexed_statuses) {
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
    // Shards have about equally many: twice a shard's share of the page hardly ever has to be read again.
    constexpr std::size_t share_min = 8;
    const std::size_t share =
        std::min(query.limit, std::max(share_min, 2 * (query.limit / static_cast<std::size_t>(Impl::shard_count))));
    std::vector<Taken> taken(impl_->shards.size(), Taken{query.before});
    for (bool is_complete = false; !is_complete;) {
        is_complete = true;
        const bool is_full = newest.size() == query.limit;
        const ThreadPlace end = is_full ? newest.back().place : ThreadPlace();
        for (std::size_t i = 0; i < taken.size(); ++i) {
            const bool is_enough = taken[i].is_over || (is_full && taken[i].last && *taken[i].last <= end);
            if (is_enough) continue;
            is_complete = false;
            takeNewest(impl_->shards[i], query, share, taken[i], newest);
        }
        std::ranges::sort(newest, std::ranges::greater{}, &IndexedThread::place);
        if (newest.size() > query.limit) newest.resize(query.limit);
    }
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
        for (const Status status : indexed_statuses) {
            std::size_t& count = counts[status];
            if (count >= most) continue;
            shard.index.forEachNewest(status, nullptr, [&](const Thread&) { return ++count < most; });
        }
    }
    return counts;
}

}  // namespace stategraph
