#pragma once
#include <cstdint>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// A question that a node stopped at.
struct Interrupt {
    /// Names who asks, for `Answer`: the task, or a function that the task calls once (Runtime::once, Flow::call). The questions of one asker
    /// share it and are answered in order.
    TaskId id;
    /// How many questions of the same asker came before.
    std::uint64_t index = 0;
    /// What the node gave to `interrupt`.
    Value value;
    friend bool operator==(const Interrupt&, const Interrupt&) = default;
};

}  // namespace stategraph
