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

#include "src/lasting.hpp"

namespace stategraph::engine {

// Who holds or waits, in the order in which they came: a thread's first is its holder.
struct alignas(64) ThreadClaim::Shard {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::vector<ThreadClaim*> line;
    std::size_t waiting = 0;

    ThreadClaim* holderFor(const ThreadClaim& claim) const noexcept {
        const auto first = std::find_if(line.begin(), line.end(), [&](const ThreadClaim* other) { return claim.isFor(*other); });
        return first == line.end() ? nullptr : *first;
    }
};

ThreadClaim::Shard& ThreadClaim::shardOf(const BaseCheckpointSaver& saver, std::string_view thread_id) noexcept {
    static Lasting<std::array<Shard, 64>> shards;
    const std::size_t hash = std::hash<const void*>()(&saver) ^ std::hash<std::string_view>()(thread_id);
    return (*shards)[(hash * 0x9E3779B97F4A7C15ULL) >> 58U];
}

namespace {

void checkTimeout(int timeout_ms) {
    if (timeout_ms < 0) {
        throw InvalidArgumentError("busy_timeout_ms is " + std::to_string(timeout_ms) + "; it must not be negative");
    }
}

}  // namespace

void ThreadClaim::acquire(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy, int timeout_ms,
                          const ClaimStop& stop) {
    if (holds_) return;
    checkTimeout(timeout_ms);
    saver_ = &saver;
    thread_id_ = thread_id;
    replaces_ = on_busy == OnBusy::replace;
    Shard& shard = shardOf(saver, thread_id);
    std::unique_lock lock(shard.mutex);
    const bool is_busy = shard.holderFor(*this) != nullptr;
    if (is_busy && on_busy == OnBusy::reject) {
        saver_ = nullptr;
        throw ThreadBusyError("another run is under way on the thread; wait for it to end, or choose OnBusy::wait or OnBusy::replace",
                              {.thread_id = std::string(thread_id)});
    }
    shard.line.push_back(this);
    if (is_busy) {
        tellHolder(shard, *this);
        ++shard.waiting;
        auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
        const bool run_ends_first = stop.deadline && *stop.deadline < until;
        if (run_ends_first) until = *stop.deadline;
        const bool mine = shard.changed.wait_until(lock, stop.token, until, [&] { return shard.holderFor(*this) == this; });
        --shard.waiting;
        if (!mine) {
            leave(shard);
            saver_ = nullptr;
            if (stop.token.stop_requested() || run_ends_first) refuseStopped(thread_id);
            refuse(thread_id, timeout_ms);
        }
    }
    holds_ = true;
    tellHolder(shard, *this);  // whoever came later to replace means this one too
}

bool ThreadClaim::enterLine(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy, int timeout_ms, Turn turn,
                            void* context) {
    checkTimeout(timeout_ms);
    saver_ = &saver;
    thread_id_ = thread_id;
    replaces_ = on_busy == OnBusy::replace;
    Shard& shard = shardOf(saver, thread_id);
    const std::lock_guard lock(shard.mutex);
    shard.line.push_back(this);
    tellHolder(shard, *this);
    if (shard.holderFor(*this) == this) {
        holds_ = true;
        return true;
    }
    turn_ = turn;
    turn_context_ = context;
    return false;
}

bool ThreadClaim::leaveLine() noexcept {
    Shard& shard = shardOf(*saver_, thread_id_);
    const std::lock_guard lock(shard.mutex);
    turn_ = nullptr;
    if (shard.holderFor(*this) == this) {
        holds_ = true;
        tellHolder(shard, *this);
        return true;
    }
    leave(shard);
    saver_ = nullptr;
    return false;
}

void ThreadClaim::refuse(std::string_view thread_id, int timeout_ms) {
    throw ThreadBusyError("another run is under way on the thread, and did not end within " + std::to_string(timeout_ms) +
                              " ms (busy_timeout_ms)",
                          {.thread_id = std::string(thread_id)});
}

void ThreadClaim::refuseStopped(std::string_view thread_id) {
    throw CancelledError("the run was to end before it had its turn on the thread; nothing was done", {.thread_id = std::string(thread_id)});
}

// Out of the line, from wherever it is in it.
void ThreadClaim::leave(Shard& shard) noexcept {
    std::erase(shard.line, this);
    tellHolder(shard, *this);  // there may be nobody left who wants to replace it
}

// Tells the next, if it does not block.
void ThreadClaim::giveTurn(Shard& shard, const ThreadClaim& after) noexcept {
    const ThreadClaim* const next = shard.holderFor(after);
    if (next == nullptr || next->turn_ == nullptr) return;
    try {
        next->turn_(next->turn_context_);
    } catch (...) {
        // No memory to wake it: it looks for itself when its time is over.
    }
}

// Whether the thread's holder is to be replaced: it is if somebody in the line behind it wants to.
void ThreadClaim::tellHolder(Shard& shard, const ThreadClaim& of) noexcept {
    ThreadClaim* const holder = shard.holderFor(of);
    if (holder == nullptr) return;
    const bool replaced = std::any_of(shard.line.begin(), shard.line.end(), [&](const ThreadClaim* other) {
        return other != holder && other->replaces_ && of.isFor(*other);
    });
    holder->replaced_.store(replaced, std::memory_order_relaxed);
}

void ThreadClaim::release() noexcept {
    if (!holds_) return;
    Shard& shard = shardOf(*saver_, thread_id_);
    bool wake = false;
    {
        const std::lock_guard lock(shard.mutex);
        std::erase(shard.line, this);
        giveTurn(shard, *this);
        wake = shard.waiting > 0;
    }
    if (wake) shard.changed.notify_all();
    holds_ = false;
    saver_ = nullptr;
}

}  // namespace stategraph::engine
