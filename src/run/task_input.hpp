#pragma once
#include <optional>

#include "src/run/run.hpp"

namespace stategraph::engine {

/// What a task's node takes, as an object, for callables that are not the node: the payload of its Send, its part of the state, or the state.
/// Errors: those of `restorePayload`.
class TaskInput {
public:
    /// `takes_state`: the state in any case.
    TaskInput(Run& run, const Task& task, bool takes_state);
    const void* get() const noexcept { return object_; }

private:
    std::optional<State> part_;
    detail::AnyValue payload_;
    const void* object_ = nullptr;
};

}  // namespace stategraph::engine
