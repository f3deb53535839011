#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/memory_saver.hpp>

#include "storage/memory/memory_names.hpp"
#include "storage/memory/memory_size.hpp"
#include "storage/memory/memory_thread.hpp"
#include "storage/saver/retention.hpp"

namespace stategraph {

/// The saver consists of threads by name in shards, each with its lock, and of one limit of bytes for all shards.
struct MemorySaver::Impl {
    static constexpr std::size_t shard_count = 64;

    explicit Impl(const MemorySaverOptions& chosen) : options(chosen), limit(chosen.bytes_max) {}

    checkpoint::MemoryShard& shardOf(const checkpoint::HashedName& name) noexcept {
        return shards[(name.hash * 0x9E3779B97F4A7C15ULL) >> 58U];  // uses other bits than the table
    }

    void putNothing(const PutRequest& request);

    /// Takes bytes from the limit, and evicts threads if necessary. No shard may be locked. The threads in `spared` are
    /// not evicted.
    checkpoint::Room takeRoom(std::size_t bytes, std::array<std::string_view, 2> spared);
    bool evict(std::size_t bytes, const std::array<std::string_view, 2>& spared);
    bool evictOne(const checkpoint::HashedName& name, CheckpointId newest);
    [[noreturn]] void refuseFull(std::size_t bytes, std::string_view thread_id) const;

    // Prunes a thread. `recount` then keeps as many of the `taken` bytes of the limit as the thread has grown by.
    std::size_t pruneCommits(checkpoint::MemoryShard& shard, checkpoint::Thread& thread, const PruneRequest& request)
        SG_REQUIRES(shard.mutex);
    void recount(checkpoint::MemoryShard& shard, checkpoint::Thread& thread, std::size_t taken) noexcept
        SG_REQUIRES(shard.mutex);
    std::unique_ptr<checkpoint::Thread> extract(checkpoint::MemoryShard& shard,
                                                const checkpoint::HashedName& name) noexcept SG_REQUIRES(shard.mutex);

    const MemorySaverOptions options;
    std::array<checkpoint::MemoryShard, shard_count> shards;
    checkpoint::ByteLimit limit;
    detail::Mutex evicting;  // locked before any shard's mutex
    std::atomic<std::uint64_t> evicted_threads{0};
    std::atomic<bool> is_closing{false};
    std::unique_ptr<checkpoint::Retention> retention;

    static constexpr std::size_t graphs_max = 256;
    static constexpr std::size_t graph_bytes_max = std::size_t{16} << 20U;
    detail::Mutex graphs_mutex;
    std::map<GraphFingerprint, std::string> graphs SG_GUARDED_BY(graphs_mutex);
    std::size_t graph_bytes SG_GUARDED_BY(graphs_mutex) = 0;
};

}  // namespace stategraph
