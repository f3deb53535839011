#pragma once
#include <memory>
#include <optional>

#include "src/task/task_env.hpp"

namespace stategraph::engine {

/// The object that a task's node takes: the payload of its Send, its part of the state, or the state. Errors: those of
/// `restorePayload`.
class TaskInput {
public:
    /// With `takes_state`, it is the state in any case.
    TaskInput(TaskEnv& env, const Task& task, bool takes_state);
    const void* get() const noexcept { return object_; }
    /// Does the same for a call that may outlive the run.
    static std::shared_ptr<const void> shared(TaskEnv& env, const Task& task, bool takes_state = false);

private:
    std::optional<State> part_;
    detail::AnyValue payload_;
    const void* object_ = nullptr;
};

}  // namespace stategraph::engine
