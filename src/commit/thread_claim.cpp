#include "src/commit/thread_claim.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <stategraph/error.hpp>

namespace stategraph::engine {

// Who holds or waits, in the order in which they came: a thread's first is its holder.
struct alignas(64) ThreadClaim::Shard {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<ThreadClaim*> line;
    std::size_t waiting = 0;

    ThreadClaim* holderFor(const ThreadClaim& claim) const noexcept {
        const auto first = std::find_if(line.begin(), line.end(), [&](const ThreadClaim* other) { return claim.isFor(*other); });
        return first == line.end() ? nullptr : *first;
    }
};

ThreadClaim::Shard& ThreadClaim::shardOf(const BaseCheckpointSaver& saver, std::string_view thread_id) noexcept {
    static std::array<Shard, 64> shards;
    const std::size_t hash = std::hash<const void*>()(&saver) ^ std::hash<std::string_view>()(thread_id);
    return shards[(hash * 0x9E3779B97F4A7C15ULL) >> 58U];
}

void ThreadClaim::acquire(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy, int timeout_ms) {
    if (timeout_ms < 0) {
        throw InvalidArgumentError("busy_timeout_ms is " + std::to_string(timeout_ms) + "; it must not be negative");
    }
    saver_ = &saver;
    thread_id_ = thread_id;
    replaces_ = on_busy == OnBusy::replace;
    replaced_.store(false, std::memory_order_relaxed);
    Shard& shard = shardOf(saver, thread_id);
    std::unique_lock lock(shard.mutex);
    const auto busy = [&](const std::string& what) {
        saver_ = nullptr;
        throw ThreadBusyError("another run is under way on the thread" + what, {.thread_id = std::string(thread_id)});
    };
    ThreadClaim* const holder = shard.holderFor(*this);
    if (holder != nullptr && on_busy == OnBusy::reject) busy("; wait for it to end, or choose OnBusy::wait or OnBusy::replace");
    shard.line.push_back(this);
    if (holder != nullptr) {
        if (replaces_) holder->replaced_.store(true, std::memory_order_relaxed);
        ++shard.waiting;
        const bool mine = shard.changed.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                                 [&] { return shard.holderFor(*this) == this; });
        --shard.waiting;
        if (!mine) {
            std::erase(shard.line, this);
            busy(", and did not end within " + std::to_string(timeout_ms) + " ms (busy_timeout_ms)");
        }
    }
    holds_ = true;
    // Whoever came later to replace means this one too.
    const bool replaced = std::any_of(shard.line.begin(), shard.line.end(), [&](const ThreadClaim* other) {
        return other != this && other->replaces_ && isFor(*other);
    });
    if (replaced) replaced_.store(true, std::memory_order_relaxed);
}

void ThreadClaim::release() noexcept {
    if (!holds_) return;
    Shard& shard = shardOf(*saver_, thread_id_);
    bool wake = false;
    {
        const std::lock_guard lock(shard.mutex);
        std::erase(shard.line, this);
        wake = shard.waiting > 0;
    }
    if (wake) shard.changed.notify_all();
    holds_ = false;
    saver_ = nullptr;
}

}  // namespace stategraph::engine
