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
    drained,   // ended from outside, after a whole superstep
    sleeping,  // every task that is due waits for its time
    failed,
    retried,  // an attempt that failed and is followed by another
    left,     // the reader of the run's stream has left it
    handled,  // an attempt that failed for good; the node's error handler made the result of its task
};
/// The name of an ending, such as "done".
const char* toString(Ending ending) noexcept;

}  // namespace stategraph
