#pragma once
#include <cstddef>
#include <vector>

#include "benchmarks/support/workload.hpp"

namespace bench {

/// Each registers what a superstep costs as one thing grows and all others stay.
void registerNodes();
void registerChannels();
void registerThreads();
void registerHistory();
void registerWide();

/// `sizes`, those above `largest` left out if sizes are to be small.
inline std::vector<std::size_t> sizesUpTo(std::size_t largest, std::vector<std::size_t> sizes) {
    if (quick()) std::erase_if(sizes, [largest](std::size_t size) { return size > largest; });
    return sizes;
}

}  // namespace bench
