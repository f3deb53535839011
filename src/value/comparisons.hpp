#pragma once
#include <cstdint>

namespace stategraph::checkpoint {

/// The number of comparisons that this thread has made in searches that may be large: of records by path, answers by
/// question, claims by thread, and threads by name. Tests of growth compare it at two sizes, because times depend on
/// the machine.
inline constinit thread_local std::uint64_t comparisons = 0;

}  // namespace stategraph::checkpoint
