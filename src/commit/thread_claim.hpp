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
    /// Whether somebody waits who is to replace the holder. Safe from any thread.
    bool isReplaced() const noexcept { return replaced_.load(std::memory_order_relaxed); }

private:
    struct Shard;
    static Shard& shardOf(const BaseCheckpointSaver& saver, std::string_view thread_id) noexcept;
    static void tellHolder(Shard& shard, const ThreadClaim& of) noexcept;
    bool isFor(const ThreadClaim& other) const noexcept { return saver_ == other.saver_ && thread_id_ == other.thread_id_; }

    const BaseCheckpointSaver* saver_ = nullptr;  // null: none is held
    std::string_view thread_id_;
    bool replaces_ = false;
    bool holds_ = false;
    std::atomic<bool> replaced_{false};
};

}  // namespace stategraph::engine
