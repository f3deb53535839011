#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace stategraph::detail {

/// How many members an object has at most that Boost.JSON may build from untrusted names by itself.
inline constexpr std::size_t uncrowded_max = 64;

/// The capacity to reserve for an object of Boost.JSON whose names come from outside. Boost's table divides a hash of
/// weak low bits by its capacity, which otherwise is the count of members: whoever chooses names and their count can
/// place all of them in one bucket, and building the object costs a comparison for each pair. An odd capacity that
/// nobody can foretell needs all bits of the hash. Safe from any thread.
std::size_t capacityFor(std::size_t members);

/// Returns whether so many of these names have one hash, all 64 bits of it, that Boost's table would compare each with
/// each, whatever its capacity. The hash begins with the table's address, of which only the lowest byte decides whether
/// names of one length collide; all 16 that an address may have are tried. Costs in proportion to the names' bytes.
bool isFlood(std::span<const std::string_view> names);

}  // namespace stategraph::detail
