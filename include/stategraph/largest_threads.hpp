#pragma once
#include <cstddef>

#include <stategraph/stats.hpp>

namespace stategraph {

/// What a saver stores, as `saver.stats()` counts it, with only the threads that have the most bytes in `per_thread`:
/// at most `most`, the largest first, and those of equal size by name. Safe from any thread. Errors: those of
/// BaseCheckpointSaver::list. Cost: reads everything once; the memory does not grow with the number of threads.
SaverStats statsOfLargest(BaseCheckpointSaver& saver, std::size_t most);

}  // namespace stategraph
