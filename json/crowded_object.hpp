#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stategraph::detail {

/// How many members an object has at most that Boost.JSON may build from untrusted names by itself.
inline constexpr std::size_t uncrowded_max = 64;

/// The capacity to reserve for an object of Boost.JSON whose names come from outside. Boost's table divides a hash of
/// weak low bits by its capacity, which otherwise is the count of members: whoever chooses names and their count can
/// place all of them in one bucket, and building the object costs a comparison for each pair. An odd capacity that
/// nobody can foretell needs all bits of the hash. Safe from any thread.
std::size_t capacityFor(std::size_t members);

/// Fewer names cost little even if all collide.
inline constexpr std::size_t flood_min = 512;

/// Finds out whether so many names of an object have one hash, all 64 bits of it, that Boost's table would compare each
/// with each, whatever its capacity. The hash begins with the table's address, of which only the lowest byte decides
/// whether names of one length collide; all 16 that an address may have are tried. Not safe from several
/// threads. Cost: 16 to 32 bytes for each of the names that it is made for.
class FloodWatch {
public:
    /// For at most so many names.
    explicit FloodWatch(std::size_t names_max);
    /// Returns whether too many have one hash now. Call it once for each name of the object. Costs in proportion to its
    /// bytes.
    [[nodiscard]] bool add(std::string_view name) noexcept;

private:
    std::size_t buckets_;
    std::vector<std::uint8_t> counts_;  // the buckets of each address one after the other
};

/// Does the same for all names at once. Fewer than flood_min are none.
bool isFlood(std::span<const std::string_view> names);

}  // namespace stategraph::detail
