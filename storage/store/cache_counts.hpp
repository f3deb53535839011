#pragma once
#include <atomic>
#include <cstdint>

#include <stategraph/cache.hpp>

namespace stategraph::stores {

/// Counts what a cache that several threads call has found, missed and kept.
class CacheCounts {
public:
    void found() noexcept { hits_.fetch_add(1, std::memory_order_relaxed); }
    void missed() noexcept { misses_.fetch_add(1, std::memory_order_relaxed); }
    void kept() noexcept { stores_.fetch_add(1, std::memory_order_relaxed); }
    CacheStats stats() const noexcept {
        return {.hits = hits_.load(std::memory_order_relaxed),
                .misses = misses_.load(std::memory_order_relaxed),
                .stores = stores_.load(std::memory_order_relaxed)};
    }

private:
    std::atomic<std::uint64_t> hits_ = 0;
    std::atomic<std::uint64_t> misses_ = 0;
    std::atomic<std::uint64_t> stores_ = 0;
};

}  // namespace stategraph::stores
