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

// Of names that nobody has chosen, a bucket has a few.
constexpr unsigned crowd_max = 64;
constexpr std::uint64_t begins = 16;

// As Boost.JSON computes it; unchanged by what two names of one length share, except for the lowest byte of `begin`.
std::uint64_t hashOf(std::string_view name, std::uint64_t begin) noexcept {
    std::uint64_t hash = 0xCBF29CE484222325ULL + begin;
    for (const char each : name) hash = (static_cast<std::uint64_t>(each) ^ hash) * 0x100000001B3ULL;
    return hash;
}

}  // namespace

std::size_t capacityFor(std::size_t members) {
    if (members <= uncrowded_max) return members;
    const std::size_t chosen = (members + nextNumber() % members) | 1U;
    return std::min(chosen, std::max(members, boost::json::object::max_size()));
}

FloodWatch::FloodWatch(std::size_t names_max) : buckets_(capacityFor(names_max) | 1U), counts_(begins * buckets_) {}

bool FloodWatch::add(std::string_view name) noexcept {
    bool is_flood = false;
    for (std::uint64_t i = 0; i < begins; ++i) {
        std::uint8_t& count = counts_[i * buckets_ + hashOf(name, 16 * i) % buckets_];
        if (count >= crowd_max)
            is_flood = true;
        else
            ++count;
    }
    return is_flood;
}

bool isFlood(std::span<const std::string_view> names) {
    if (names.size() < flood_min) return false;
    FloodWatch watch(names.size());
    return std::ranges::any_of(names, [&](std::string_view name) { return watch.add(name); });
}

}  // namespace stategraph::detail
