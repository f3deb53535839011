#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "storage/memory/memory_impl.hpp"

// What the memory saver's index of threads is asked. Each shard gives its first ones; the first of all are among them.
namespace stategraph {

namespace {

using checkpoint::Thread;
using Shard = checkpoint::MemoryShard;

}  // namespace

std::optional<std::vector<std::string>> MemorySaver::openThreads(const std::optional<std::string>& after_thread_id,
                                                                 std::size_t limit) {
    std::vector<std::string> names;
    if (limit == 0) return names;
    for (Shard& shard : impl_->shards) {
        std::size_t left = limit;
        const detail::LockGuard lock(shard.mutex);
        shard.index.forEachOpen(after_thread_id ? &*after_thread_id : nullptr, [&](const Thread& thread) {
            names.push_back(thread.name);
            return --left > 0;
        });
    }
    std::sort(names.begin(), names.end(), checkpoint::BySizeThenText());
    if (names.size() > limit) names.resize(limit);
    return names;
}

std::optional<std::vector<IndexedThread>> MemorySaver::newestThreads(const NewestThreadsQuery& query) {
    std::vector<IndexedThread> newest;
    if (query.limit == 0) return newest;
    for (Shard& shard : impl_->shards) {
        const detail::LockGuard lock(shard.mutex);
        for (const bool is_finished : {false, true}) {
            if (query.is_finished && *query.is_finished != is_finished) continue;
            std::size_t left = query.limit;
            shard.index.forEachNewest(is_finished, query.before ? &*query.before : nullptr, [&](const Thread& thread) {
                newest.push_back({{thread.index.since, thread.name}, is_finished});
                return --left > 0;
            });
        }
    }
    std::ranges::sort(newest, std::ranges::greater{}, &IndexedThread::place);
    if (newest.size() > query.limit) newest.resize(query.limit);
    return newest;
}

std::optional<ThreadCounts> MemorySaver::countThreads(std::size_t most) {
    ThreadCounts counts;
    for (Shard& shard : impl_->shards) {
        const detail::LockGuard lock(shard.mutex);
        for (const bool is_finished : {false, true}) {
            std::size_t& count = is_finished ? counts.finished : counts.open;
            if (count >= most) continue;
            shard.index.forEachNewest(is_finished, nullptr, [&](const Thread&) { return ++count < most; });
        }
    }
    return counts;
}

}  // namespace stategraph
