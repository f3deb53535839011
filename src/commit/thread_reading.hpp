#pragma once
#include <stategraph/detail/thread_read.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/superstep/apply.hpp"

namespace stategraph::engine {

/// The implementation of ThreadRead, which has no other.
struct ThreadReading final : detail::ThreadRead {
    ThreadReading(const detail::Schema& schema, checkpoint::Folded&& folded) : from(std::move(folded)), state(schema) {
        values = state.object();
    }

    /// Returns whether the saver still returns what was read.
    bool isStill(const CheckpointTuple& now) const noexcept;

    checkpoint::Folded from;
    State state;
};

}  // namespace stategraph::engine
