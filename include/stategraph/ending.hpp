#pragma once
#include <cstdint>

#include <stategraph/detail/print_enum.hpp>

namespace stategraph {

/// How a run, a superstep or an attempt at a task ended.
enum class Ending : std::uint8_t {
    done,
    interrupted,  // questions wait for answers
    breakpoint,
    cancelled,
    timed_out,
    drained,   // after a whole superstep, from outside
    sleeping,  // every task that is due waits for its time
    failed,
    retried,  // an attempt that failed and is followed by another
    left,     // a run whose reader has left its stream
    handled,  // an attempt that failed for good, and whose task has the result that the node's error handler made
};
/// The name of an ending, such as "done".
const char* toString(Ending ending) noexcept;

}  // namespace stategraph
