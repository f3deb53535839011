#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>

#include "storage/memory/memory_thread.hpp"

// How many bytes a row counts in the memory saver, and the saver's limit. It does not lock.
namespace stategraph::checkpoint {

// Rows count these besides their bytes and names: about the memory of their place. A short thread consists mostly of
// its first chunk and its first places.
inline constexpr std::size_t commit_cost = sizeof(Log::Commit) + 16;
inline constexpr std::size_t write_cost = sizeof(PendingWrites::value_type) + 64;
inline constexpr std::size_t log_cost = sizeof(Log) + 512;
inline constexpr std::size_t thread_cost = sizeof(Thread) + 512;

inline std::size_t sizeOf(const PendingWrites::value_type& write) noexcept {
    return write_cost + write.first.path.size() + write.second.size();
}
inline std::size_t sizeOfLogNamed(std::string_view ns) noexcept { return log_cost + ns.size(); }
inline std::size_t sizeOfThreadNamed(std::string_view name) noexcept { return thread_cost + name.size(); }

/// Returns the bytes that a thread counts. Cost: a look at every row's size.
inline std::size_t sizeOf(const Thread& thread) noexcept {
    std::size_t size = sizeOfThreadNamed(thread.name) + thread.summary.size();
    const auto add = [&](const Log& log) {
        for (const auto& commit : log.commits) size += commit_cost + commit.size;
        for (const auto& write : log.pending) size += sizeOf(write);
    };
    add(thread.root);
    if (!thread.children) return size;
    for (const auto& [ns, log] : *thread.children) {
        size += sizeOfLogNamed(ns);
        add(log);
    }
    return size;
}

/// Returns the newest commit of all its namespaces.
inline CheckpointId newestOf(const Thread& thread) noexcept {
    CheckpointId newest = thread.root.head();
    if (!thread.children) return newest;
    for (const auto& [ns, log] : *thread.children) newest = std::max(newest, log.head());
    return newest;
}

/// A number of bytes that several threads take and return. Without a limit it counts nothing, so that cores share
/// nothing.
class ByteLimit {
public:
    explicit ByteLimit(std::optional<std::size_t> bytes_max) noexcept : bytes_max_(bytes_max) {}

    bool isSet() const noexcept { return bytes_max_.has_value(); }
    std::size_t bytesMax() const noexcept { return *bytes_max_; }
    std::size_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
    bool fits(std::size_t bytes) const noexcept { return bytes <= *bytes_max_ && taken() <= *bytes_max_ - bytes; }

    bool tryTake(std::size_t bytes) noexcept {
        if (!bytes_max_) return true;
        std::size_t before = taken();
        do {
            if (bytes > *bytes_max_ || before > *bytes_max_ - bytes) return false;
        } while (!taken_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
        return true;
    }
    void giveBack(std::size_t bytes) noexcept {
        if (bytes_max_) taken_.fetch_sub(bytes, std::memory_order_relaxed);
    }

private:
    const std::optional<std::size_t> bytes_max_;
    std::atomic<std::size_t> taken_{0};
};

/// Bytes that were taken before a write, so that a write that begins can end. Those that it does not keep are returned.
class Room {
public:
    /// `bytes` have been taken already.
    Room(ByteLimit& limit, std::size_t bytes) noexcept : limit_(limit), bytes_(bytes) {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() { limit_.giveBack(bytes_); }

    /// Keeps at most the bytes that are left. The bytes that a write frees are returned in addition.
    void keep(std::size_t bytes, std::size_t freed) noexcept { bytes_ = bytes_ - bytes + freed; }

private:
    ByteLimit& limit_;
    std::size_t bytes_;
};

}  // namespace stategraph::checkpoint
