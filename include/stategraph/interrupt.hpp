#pragma once
#include <cstdint>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// A question that a node stopped at.
struct Interrupt {
    /// Names the task that asks: give it to `Answer`. The questions of one task share it and are answered in order.
    TaskId id;
    /// How many questions of this task came before.
    std::uint64_t index = 0;
    /// What the node gave to `interrupt`.
    Value value;
    friend bool operator==(const Interrupt&, const Interrupt&) = default;
};

}  // namespace stategraph
