#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

#include "storage/memory/memory_impl.hpp"
#include "storage/memory/memory_prune.hpp"

// Manages the bytes that the saver may keep: takes them, returns them, and gains them by evicting finished threads.
namespace stategraph {

namespace {

using checkpoint::HashedName;
using checkpoint::LogPrune;
using Shard = checkpoint::MemoryShard;
using checkpoint::Thread;

}  // namespace

void MemorySaver::Impl::recount(Shard& shard, Thread& thread, std::size_t taken) noexcept {
    const std::size_t before = std::exchange(thread.bytes, checkpoint::sizeOf(thread));
    shard.bytes += thread.bytes - before;
    limit.giveBack(before + taken - thread.bytes);
}

// Everything is read before anything is removed.
std::size_t MemorySaver::Impl::pruneCommits(Shard& shard, Thread& thread, const PruneRequest& request) {
    std::vector<LogPrune> plans = planThread(thread, request);
    std::size_t growth = growthOf(plans);
    if (!limit.tryTake(growth)) {
        PruneRequest without = request;
        without.rewrite = Rewrite::never;
        plans = planThread(thread, without);
        growth = 0;
    }
    checkpoint::Room room(limit, growth);
    const std::size_t dropped = applyPrune(thread, plans);
    room.keep(growth, 0);
    recount(shard, thread, growth);
    return dropped;
}

std::unique_ptr<Thread> MemorySaver::Impl::extract(Shard& shard, const HashedName& name) noexcept {
    std::unique_ptr<Thread> thread = shard.threads.extract(name);
    if (!thread) return thread;
    shard.index.forget(*thread);
    shard.bytes -= thread->bytes;
    limit.giveBack(thread->bytes);
    return thread;
}

void MemorySaver::Impl::refuseFull(std::size_t bytes, std::string_view thread_id) const {
    const bool evicts = options.when_full == WhenFull::evict;
    throw SaverError("the memory saver is full: it keeps " + std::to_string(limit.taken()) + " of at most " +
                         std::to_string(limit.bytesMax()) + " bytes, and " + std::to_string(bytes) +
                         " more do not fit" + (evicts ? ", and evicting finished threads does not free enough" : "") +
                         "; nothing of it was stored. Prune or delete threads, set retention" +
                         (evicts ? "" : ", set when_full to evict") + ", or raise bytes_max",
                     {.thread_id = std::string(thread_id)});
}

checkpoint::Room MemorySaver::Impl::takeRoom(std::size_t bytes, std::array<std::string_view, 2> spared) {
    while (!limit.tryTake(bytes)) {
        const bool can_fit = options.when_full == WhenFull::evict && bytes <= limit.bytesMax();
        if (!can_fit || !evict(bytes, spared)) refuseFull(bytes, spared[0]);
    }
    return {limit, bytes};
}

// Returns whether there is room now, or was after the eviction. Candidates are collected some at a time, so that memory
// is bounded. They are checked one by one, each under its shard's lock: a writer waits at most for the check of one
// thread.
bool MemorySaver::Impl::evict(std::size_t bytes, const std::array<std::string_view, 2>& spared) {
    constexpr std::size_t candidates_max = 4096;
    using Candidate = std::pair<CheckpointId, std::string>;
    const detail::LockGuard only_one(evicting);
    if (limit.fits(bytes)) return true;  // another thread has made room

    const std::size_t wanted = limit.bytesMax() - limit.bytesMax() / 10;
    const std::size_t goal = wanted - std::min(wanted, bytes);
    std::optional<Candidate> last;
    for (;;) {
        std::vector<Candidate> oldest;  // a heap with the newest of them on top
        for (Shard& shard : shards) {
            const detail::LockGuard lock(shard.mutex);
            shard.threads.forEach([&](const Thread& thread) {
                if (thread.name == spared[0] || thread.name == spared[1]) return;
                const CheckpointId newest = checkpoint::newestOf(thread);
                if (last && std::tie(newest, thread.name) <= std::tie(last->first, last->second)) return;
                if (oldest.size() == candidates_max) {
                    if (std::tie(newest, thread.name) >= std::tie(oldest[0].first, oldest[0].second)) return;
                    std::pop_heap(oldest.begin(), oldest.end());
                    oldest.pop_back();
                }
                oldest.emplace_back(newest, thread.name);
                std::push_heap(oldest.begin(), oldest.end());
            });
        }
        std::sort_heap(oldest.begin(), oldest.end());
        for (const auto& [newest, name] : oldest) {
            if (limit.taken() <= goal) return true;
            if (evictOne(HashedName(name), newest)) evicted_threads.fetch_add(1, std::memory_order_relaxed);
        }
        if (oldest.size() < candidates_max) return limit.fits(bytes);
        last = std::move(oldest.back());
    }
}

// Keeps a thread that was written to since, or that has work to do.
bool MemorySaver::Impl::evictOne(const HashedName& name, CheckpointId newest) {
    Shard& shard = shardOf(name);
    std::unique_ptr<Thread> gone;  // freed after the lock is released
    const detail::LockGuard lock(shard.mutex);
    Thread* const thread = shard.threads.find(name);
    if (!thread || checkpoint::newestOf(*thread) != newest || !isFinished(*thread)) return false;
    gone = extract(shard, name);
    return true;
}

}  // namespace stategraph
