#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

#include <stategraph/config.hpp>

#include "src/threads/brief_lock.hpp"

namespace stategraph {
class BaseCheckpointSaver;
}

namespace stategraph::engine {

/// Reasons that end a wait for a thread early.
struct ClaimStop {
    std::stop_token token = {};
    std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// The right to write to a thread: one at a time in this process for each saver object, first come first served. It
/// keeps two runs from doing the same work; the saver makes sure that they never overwrite each other.
///
/// Cost: two short locks, one in 64 shared by all threads, and a look-up, however many runs wait. A waiting claim is
/// notified once, when it holds the thread.
class ThreadClaim {
public:
    ThreadClaim() noexcept {}  // not defaulted: `= {}` would zero all of it first
    ThreadClaim(const ThreadClaim&) = delete;
    ThreadClaim& operator=(const ThreadClaim&) = delete;
    ~ThreadClaim() { release(); }

    /// Both must outlive the claim. Errors: ThreadBusyError; CancelledError if `stop` says so first;
    /// InvalidArgumentError for a negative timeout.
    void acquire(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy,
                 std::chrono::milliseconds timeout, const ClaimStop& stop = {});
    void release() noexcept;

    /// For callers that must not block: enters the queue. True: the claim is first, and `acquire` returns immediately.
    /// Otherwise `turn(context)` is called, under a lock, when it becomes first; call `leaveLine` then, or to leave the
    /// queue earlier. Errors: InvalidArgumentError, and std::bad_alloc.
    using Turn = void (*)(void* context);
    bool enterLine(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy,
                   std::chrono::milliseconds timeout, Turn turn, void* context);
    /// Whether it got to the head, and so holds the thread; if not it is in no line any more.
    bool leaveLine() noexcept;
    /// The error of a run that did not get its turn.
    [[noreturn]] static void refuse(std::string_view thread_id, std::chrono::milliseconds timeout);
    /// The same of one that was stopped first.
    [[noreturn]] static void refuseStopped(std::string_view thread_id);

    /// From now on `cancelHolder` calls `store(context)` to store that the thread is cancelled; null: no longer. It is
    /// called by any thread, under the lock of `storing`, while the claim holds the thread. It returns false if there
    /// is nothing that could be cancelled.
    using StoreCancel = bool (*)(void* context);
    void takeCancels(StoreCancel store, void* context) noexcept;
    /// Held by the holder while it stores, so that what it stores and a cancel come one after the other.
    using Storing = std::unique_lock<BriefLock>;
    Storing storing() { return Storing(storing_); }
    /// Whether the thread has been cancelled; under the lock of `storing`.
    bool isCancelled() const noexcept {
        storing_.assertHeld();
        return cancelled_;
    }
    /// Makes the run that holds the thread store that it is cancelled, which it also stores with all its later commits.
    /// True: it is stored; false: nothing is due. None: no run holds the thread. Errors: ThreadBusyError if the holder
    /// is not ready before `until`; what storing throws.
    static std::optional<bool> cancelHolder(const BaseCheckpointSaver& saver, std::string_view thread_id,
                                            std::chrono::steady_clock::time_point until);

    /// Whether a run waits that is to replace the holder. Safe from any thread.
    bool isReplaced() const noexcept { return replaced_.load(std::memory_order_relaxed); }

private:
    struct Shard;
    Shard& nameThread(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy) noexcept;
    Shard& shard() const noexcept;
    bool enter(Shard& shard) noexcept;
    void leave(Shard& shard) noexcept;
    void giveTurn() noexcept;
    bool isFor(const ThreadClaim& other) const noexcept {
        return saver_ == other.saver_ && thread_id_ == other.thread_id_;
    }

    const BaseCheckpointSaver* saver_ = nullptr;
    std::string_view thread_id_;
    std::uint8_t shard_ = 0;
    std::uint8_t chain_ = 0;  // within the shard
    bool replaces_ = false;
    bool holds_ = false;
    bool is_first_ = false;  // in its line
    std::atomic<bool> replaced_{false};
    BriefLock storing_;
    bool cancelled_ SG_GUARDED_BY(storing_) = false;
    StoreCancel store_cancel_ SG_GUARDED_BY(storing_) = nullptr;
    void* store_context_ SG_GUARDED_BY(storing_) = nullptr;
    Turn turn_ = nullptr;  // it waits for its turn without blocking
    void* turn_context_ = nullptr;
    std::condition_variable_any* waiting_ = nullptr;  // it waits for its turn and blocks

    // Its place in its line.
    ThreadClaim* next_ = nullptr;
    ThreadClaim* previous_ = nullptr;
    // Only in the first claim of a queue: the queue.
    ThreadClaim* next_line_ = nullptr;
    ThreadClaim* last_ = nullptr;
    std::size_t replacing_ = 0;  // of those after it
};

}  // namespace stategraph::engine
