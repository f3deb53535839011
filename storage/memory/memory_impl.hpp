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

#include "checkpoint/retention.hpp"
#include "storage/memory/memory_names.hpp"
#include "storage/memory/memory_size.hpp"
#include "storage/memory/memory_thread.hpp"

namespace stategraph {

/// What the saver is made of: threads by name in shards, each with its lock, and one limit of bytes over all.
struct MemorySaver::Impl {
    static constexpr std::size_t shard_count = 64;

    explicit Impl(const MemorySaverOptions& chosen) : options(chosen), limit(chosen.bytes_max) {}

    checkpoint::MemoryShard& shardOf(const checkpoint::HashedName& name) noexcept {
        return shards[(name.hash * 0x9E3779B97F4A7C15ULL) >> 58U];  // other bits than the table's
    }

    void putNothing(const PutRequest& request);

    /// Takes bytes from the limit, by evicting if need be. No shard may be locked. `spared` are threads that stay.
    checkpoint::Room takeRoom(std::size_t bytes, std::array<std::string_view, 2> spared);
    bool evict(std::size_t bytes, const std::array<std::string_view, 2>& spared);
    bool evictOne(const checkpoint::HashedName& name, CheckpointId newest);
    [[noreturn]] void refuseFull(std::size_t bytes, std::string_view thread_id) const;

    // `taken` of the limit for what the thread has grown by.
    std::size_t pruneCommits(checkpoint::MemoryShard& shard, checkpoint::Thread& thread, const PruneRequest& request)
        SG_REQUIRES(shard.mutex);
    void recount(checkpoint::MemoryShard& shard, checkpoint::Thread& thread, std::size_t taken) noexcept
        SG_REQUIRES(shard.mutex);
    std::unique_ptr<checkpoint::Thread> extract(checkpoint::MemoryShard& shard,
                                                const checkpoint::HashedName& name) noexcept SG_REQUIRES(shard.mutex);

    const MemorySaverOptions options;
    std::array<checkpoint::MemoryShard, shard_count> shards;
    checkpoint::ByteLimit limit;
    detail::Mutex evicting;  // before any shard's
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
