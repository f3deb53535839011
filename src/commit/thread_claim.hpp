#pragma once
#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string_view>

#include <stategraph/config.hpp>

namespace stategraph {
class BaseCheckpointSaver;
}

namespace stategraph::engine {

/// What may end a wait for a thread early.
struct ClaimStop {
    std::stop_token token = {};
    std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// The right to write to a thread: one at a time in this process for each saver object, first come first served. It keeps two runs from
/// doing the same work; that they never write over each other is the saver's part.
///
/// Cost when nobody else wants the thread: two short locks, one in 64 shared by all threads.
class ThreadClaim {
public:
    ThreadClaim() = default;
    ThreadClaim(const ThreadClaim&) = delete;
    ThreadClaim& operator=(const ThreadClaim&) = delete;
    ~ThreadClaim() { release(); }

    /// Both must outlive the claim. Errors: ThreadBusyError; CancelledError if `stop` says so first; InvalidArgumentError for a negative timeout.
    void acquire(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy, int timeout_ms, const ClaimStop& stop = {});
    void release() noexcept;

    /// For who cannot block: enters the line. True: it is at its head, and `acquire` returns at once. Else `turn(context)` is called, under a
    /// lock, when it gets there; then, or to give up before, `leaveLine`. Errors: InvalidArgumentError, and std::bad_alloc.
    using Turn = void (*)(void* context);
    bool enterLine(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy, int timeout_ms, Turn turn, void* context);
    /// Whether it got to the head, and so holds the thread; if not it is in no line any more.
    bool leaveLine() noexcept;
    /// What a run says that did not get its turn.
    [[noreturn]] static void refuse(std::string_view thread_id, int timeout_ms);
    /// The same of one that was stopped first.
    [[noreturn]] static void refuseStopped(std::string_view thread_id);

    /// Whether somebody waits who is to replace the holder. Safe from any thread.
    bool isReplaced() const noexcept { return replaced_.load(std::memory_order_relaxed); }

private:
    struct Shard;
    static Shard& shardOf(const BaseCheckpointSaver& saver, std::string_view thread_id) noexcept;
    static void tellHolder(Shard& shard, const ThreadClaim& of) noexcept;
    static void giveTurn(Shard& shard, const ThreadClaim& after) noexcept;
    void leave(Shard& shard) noexcept;
    bool isFor(const ThreadClaim& other) const noexcept { return saver_ == other.saver_ && thread_id_ == other.thread_id_; }

    const BaseCheckpointSaver* saver_ = nullptr;  // null: none is held
    std::string_view thread_id_;
    bool replaces_ = false;
    bool holds_ = false;
    Turn turn_ = nullptr;  // it waits for its turn without blocking
    void* turn_context_ = nullptr;
    std::atomic<bool> replaced_{false};
};

}  // namespace stategraph::engine
