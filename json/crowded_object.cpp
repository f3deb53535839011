#include "json/crowded_object.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>

#include <boost/json/object.hpp>

namespace stategraph::detail {
namespace {

// SplitMix64: each call gives another number, and none tells of the next.
std::uint64_t nextNumber() {
    static std::atomic<std::uint64_t> place = [] {
        std::random_device random;
        return (std::uint64_t{random()} << 32U) | random();
    }();
    std::uint64_t number = place.fetch_add(0x9E3779B97F4A7C15ULL, std::memory_order_relaxed);
    number = (number ^ (number >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    number = (number ^ (number >> 27U)) * 0x94D049BB133111EBULL;
    return number ^ (number >> 31U);
}

}  // namespace

std::size_t capacityFor(std::size_t members) {
    if (members <= uncrowded_max) return members;
    const std::size_t chosen = (members + nextNumber() % members) | 1U;
    return std::min(chosen, std::max(members, boost::json::object::max_size()));
}

}  // namespace stategraph::detail
