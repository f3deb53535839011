#include "src/graph/warm_cache.hpp"

#include <utility>

namespace stategraph::engine {

using detail::LockGuard;

void WarmCache::drop(Entries::iterator entry, Entries& out) {
    by_thread_.erase(entry->thread_id);
    stats_.bytes -= entry->thread->bytes;
    --stats_.threads;
    out.splice(out.end(), entries_, entry);
}

void WarmCache::dropOld(Clock::time_point now, Entries& out) {
    while (!entries_.empty() && now - entries_.back().since >= limits_.idle_max) {
        drop(std::prev(entries_.end()), out);
        ++stats_.evictions;
    }
}

std::shared_ptr<KeptThread> WarmCache::take(std::string_view thread_id) {
    Entries gone;  // destroyed after the lock is released
    Entries taken;
    const LockGuard lock(mutex_);
    dropOld(Clock::now(), gone);
    const auto found = by_thread_.find(thread_id);
    if (found == by_thread_.end()) return nullptr;
    drop(found->second, taken);
    return std::move(taken.front().thread);
}

std::shared_ptr<const KeptThread> WarmCache::read(std::string_view thread_id) {
    Entries gone;  // destroyed after the lock is released
    const LockGuard lock(mutex_);
    const auto now = Clock::now();
    dropOld(now, gone);
    const auto found = by_thread_.find(thread_id);
    if (found == by_thread_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    found->second->since = now;
    const std::shared_ptr<KeptThread>& thread = found->second->thread;
    thread->readers.fetch_add(1, std::memory_order_relaxed);
    return {thread.get(), [thread](const KeptThread*) { thread->readers.fetch_sub(1, std::memory_order_release); }};
}

void WarmCache::note(bool is_hit) noexcept {
    const LockGuard lock(mutex_);
    ++(is_hit ? stats_.hits : stats_.misses);
}

void WarmCache::put(std::string_view thread_id, std::unique_ptr<KeptThread> thread) {
    Entries gone;  // destroyed after the lock is released
    Entries added;
    const std::size_t bytes = thread->bytes;
    added.push_back({std::string(thread_id), std::move(thread), Clock::now()});
    const LockGuard lock(mutex_);
    if (const auto old = by_thread_.find(thread_id); old != by_thread_.end()) drop(old->second, gone);
    dropOld(added.front().since, gone);
    if (!hasRoomFor(bytes)) return;
    while (!entries_.empty() && stats_.bytes + bytes > limits_.bytes_max) {
        drop(std::prev(entries_.end()), gone);
        ++stats_.evictions;
    }
    by_thread_.emplace(added.front().thread_id, added.begin());
    entries_.splice(entries_.begin(), added);
    stats_.bytes += bytes;
    ++stats_.threads;
}

WarmThreadStats WarmCache::stats() const {
    const LockGuard lock(mutex_);
    return stats_;
}

}  // namespace stategraph::engine
