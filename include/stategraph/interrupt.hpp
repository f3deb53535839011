#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// A question that a node stopped at.
struct Interrupt {
    /// Names the question, for `Answer`: no two questions have the same id, and a question that is asked again because
    /// it has no answer yet keeps its id. The first question without a key of a task has the id of the task.
    TaskId id;
    /// How many questions without a key the same asker asked before: the task, or a function that it calls once
    /// (Runtime::once, Calls::call); 0 for a question with a key.
    std::uint64_t index = 0;
    /// What the node gave to `interrupt`.
    Value value;
    /// The key that the node gave to `interrupt`; empty if it gave none.
    std::string key = {};
    friend bool operator==(const Interrupt&, const Interrupt&) = default;
};

}  // namespace stategraph
