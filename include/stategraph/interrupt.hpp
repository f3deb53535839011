#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// A question that a node stopped at.
struct Interrupt {
    /// Names the question, for `Answer`. A question with a key has an id of its own. Questions without a key share the
    /// id of the asker (the task, or a function that the task calls once: Runtime::once, Flow::call), and are answered
    /// in order.
    TaskId id;
    /// How many questions without a key the same asker asked before; 0 for a question with a key.
    std::uint64_t index = 0;
    /// What the node gave to `interrupt`.
    Value value;
    /// The key that the node gave to `interrupt`; empty if it gave none.
    std::string key = {};
    friend bool operator==(const Interrupt&, const Interrupt&) = default;
};

}  // namespace stategraph
