#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <stategraph/graph_fingerprint.hpp>

namespace stategraph::detail {

/// Remembers which descriptions of graphs a saver object has stored, so that each is passed to it once. If two fall on
/// the same place, one is forgotten and passed again. Safe from any thread, without a lock, and therefore also after a
/// fork.
class KnownGraphs {
public:
    bool has(const GraphFingerprint& fingerprint) const noexcept {
        return places_[placeOf(fingerprint)].load(std::memory_order_relaxed) == mix(fingerprint);
    }
    void add(const GraphFingerprint& fingerprint) noexcept {
        places_[placeOf(fingerprint)].store(mix(fingerprint), std::memory_order_relaxed);
    }

private:
    static constexpr std::size_t size = 64;
    static std::uint64_t mix(const GraphFingerprint& fingerprint) noexcept {
        const std::uint64_t mixed = fingerprint.graph * 0x9E3779B97F4A7C15U ^ fingerprint.schema;
        return mixed == 0 ? 1 : mixed;
    }
    static std::size_t placeOf(const GraphFingerprint& fingerprint) noexcept {
        return static_cast<std::size_t>(mix(fingerprint) >> 32U) % size;
    }

    std::array<std::atomic<std::uint64_t>, size> places_ = {};
};

}  // namespace stategraph::detail
