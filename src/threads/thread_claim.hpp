#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

#include <stategraph/config.hpp>

#include "src/threads/brief_lock.hpp"

namespace stategraph {
class BaseCheckpointSaver;
class ThreadHold;
}  // namespace stategraph

namespace stategraph::engine {

/// Reasons that end a wait for a thread early.
struct ClaimStop {
    std::stop_token token = {};
    std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// How long a claim may wait for a thread: until its own time is over, or the run is to end that waits.
class ClaimWait {
public:
    /// Begins now. The thread's name must outlive it.
    ClaimWait(std::string_view thread_id, std::chrono::milliseconds timeout, const ClaimStop& stop);
    std::chrono::steady_clock::time_point until() const noexcept { return until_; }
    bool isOver() const noexcept;
    /// Throws the error of one that has not got its turn: CancelledError if its run was to end before, otherwise
    /// ThreadBusyError.
    [[noreturn]] void refuse() const;

private:
    std::string_view thread_id_;
    std::chrono::milliseconds timeout_;
    std::stop_token stop_;
    std::chrono::steady_clock::time_point until_;
    bool run_ends_first_ = false;
};

/// The right to write to a thread. For each saver object, one claim in this process holds it at a time; claims are
/// served in the order in which they come. It keeps two runs from doing the same work; the saver makes sure that they
/// never overwrite each other.
///
/// Cost: two short locks, each of which 1/64 of all threads share, and a look-up, however many runs wait. A waiting
/// claim is notified once, when it holds the thread.
class ThreadClaim {
public:
    ThreadClaim() noexcept;  // not defaulted, because `= {}` would zero all of it first
    ThreadClaim(const ThreadClaim&) = delete;
    ThreadClaim& operator=(const ThreadClaim&) = delete;
    ~ThreadClaim();

    /// Waits for the thread. The arguments must outlive the claim. Errors: ThreadBusyError, immediately if the current
    /// thread is inside the run that holds the thread (InsideRun); CancelledError if `stop` ends the wait first;
    /// InvalidArgumentError for a negative timeout.
    void acquire(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy,
                 std::chrono::milliseconds timeout, const ClaimStop& stop = {});
    void release() noexcept;

    /// For a claim that holds the thread in this process: takes the right to run it among all processes too
    /// (BaseCheckpointSaver::tryHold), unless it has it. `release` gives it back. Waits as `acquire` does; a run of
    /// another process is not replaced, but waited for. Errors: as `acquire`; SaverError.
    void hold(BaseCheckpointSaver& saver, OnBusy on_busy, std::chrono::milliseconds timeout, const ClaimStop& stop);
    /// The same without waiting. Returns whether it has the right.
    bool tryHold(BaseCheckpointSaver& saver);
    /// The time after which a claim that waits for another process looks again.
    static constexpr std::chrono::milliseconds look_interval{10};

    /// Enters the queue, for callers that must not block. Returns true if the claim is first, so that `acquire` returns
    /// immediately. Otherwise `turn(context)` is called, under a lock, when the claim becomes first; call `leaveLine`
    /// then, or to leave the queue earlier. Errors: InvalidArgumentError, and std::bad_alloc.
    using Turn = void (*)(void* context);
    bool enterLine(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy,
                   std::chrono::milliseconds timeout, Turn turn, void* context);
    /// Returns whether the claim came first, and so holds the thread. If not, it has left its line.
    bool leaveLine() noexcept;

    /// Makes `cancelHolder` call `store(context)` to store that the thread is cancelled; null ends this. Any thread may
    /// call `store`, under the lock of `storing`, while the claim holds the thread. It returns false if there is
    /// nothing to cancel.
    using StoreCancel = bool (*)(void* context);
    void takeCancels(StoreCancel store, void* context) noexcept;
    /// The holder holds this lock while it stores, so that its writes and a cancel never overlap.
    using Storing = std::unique_lock<BriefLock>;
    Storing storing() { return Storing(storing_); }
    /// Returns whether the thread has been cancelled. Call it under the lock of `storing`.
    bool isCancelled() const noexcept {
        storing_.assertHeld();
        return cancelled_ != Cancelled::no;
    }
    /// Makes the run that holds the thread store that it is cancelled; it stores this with all its later commits too.
    /// With `ends_run` the run ends as if it were replaced, and begins no superstep after the cancel can be read.
    /// Returns true if the cancel is stored, false if nothing is due, and none if no run holds the thread. Errors:
    /// ThreadBusyError if the holder is not ready before `until`; any error of storing.
    static std::optional<bool> cancelHolder(const BaseCheckpointSaver& saver, std::string_view thread_id, bool ends_run,
                                            std::chrono::steady_clock::time_point until);

    /// Returns whether the holder is to end: a run waits that is to replace it, or its thread was cancelled so. Waits
    /// for a cancel that is being stored. Safe from any thread.
    bool isReplaced() noexcept {
        return replaced_.load(std::memory_order_relaxed) ||
               (cancelling_.load(std::memory_order_relaxed) == Cancelled::ends && endsByCancel());
    }

private:
    enum class Cancelled : std::uint8_t { no, goes_on, ends };
    struct Shard;
    Shard& nameThread(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy) noexcept;
    Shard& shard() const noexcept;
    bool enter(Shard& shard) noexcept;
    void leave(Shard& shard) noexcept;
    void giveTurn() noexcept;
    bool endsByCancel() noexcept;
    bool isFor(const ThreadClaim& other) const noexcept {
        return saver_ == other.saver_ && thread_id_ == other.thread_id_;
    }

    const BaseCheckpointSaver* saver_ = nullptr;
    std::string_view thread_id_;
    std::uint8_t shard_ = 0;
    std::uint8_t chain_ = 0;  // index within the shard
    bool replaces_ = false;
    bool holds_ = false;
    bool is_first_ = false;  // whether it is the first in its line
    std::atomic<bool> replaced_{false};
    BriefLock storing_;
    // How the thread is being cancelled, and how it is stored that it was.
    std::atomic<Cancelled> cancelling_{Cancelled::no};
    Cancelled cancelled_ SG_GUARDED_BY(storing_) = Cancelled::no;
    StoreCancel store_cancel_ SG_GUARDED_BY(storing_) = nullptr;
    void* store_context_ SG_GUARDED_BY(storing_) = nullptr;
    Turn turn_ = nullptr;  // set if it waits for its turn without blocking
    void* turn_context_ = nullptr;
    std::unique_ptr<ThreadHold> hold_;                // set if processes exclude each other
    std::condition_variable_any* waiting_ = nullptr;  // set if it waits for its turn and blocks

    // The next claim in its line.
    ThreadClaim* next_ = nullptr;
    ThreadClaim* previous_ = nullptr;
    // Used only in the first claim of a line: the next line.
    ThreadClaim* next_line_ = nullptr;
    ThreadClaim* last_ = nullptr;
    std::size_t replacing_ = 0;  // how many of the claims after it replace it
};

}  // namespace stategraph::engine
