#pragma once
#include <cstddef>
#include <vector>

#include "benchmarks/support/workload.hpp"

namespace bench {

/// Each function registers the cost of a superstep as one of these grows and the others stay.
void registerNodes();
void registerChannels();
void registerThreads();
void registerHistory();
void registerWide();

/// Returns `sizes`, without those above `largest` if sizes are to be small.
inline std::vector<std::size_t> sizesUpTo(std::size_t largest, std::vector<std::size_t> sizes) {
    if (quick()) std::erase_if(sizes, [largest](std::size_t size) { return size > largest; });
    return sizes;
}

}  // namespace bench
