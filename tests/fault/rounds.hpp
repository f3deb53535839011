#pragma once
#include <cstddef>
#include <cstdlib>

namespace fault {

/// Returns how often a random test repeats itself: `usual` times, multiplied by STATEGRAPH_FAULT_ROUNDS.
inline std::size_t rounds(std::size_t usual) {
    const char* const given = std::getenv("STATEGRAPH_FAULT_ROUNDS");
    const std::size_t times = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
    return usual * (times > 0 ? times : 1);
}

}  // namespace fault
