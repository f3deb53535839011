#pragma once
#include <memory>
#include <optional>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/detail/node.hpp>
#include <stategraph/runtime.hpp>

namespace stategraph::detail {

/// What an attempt at a node leaves behind if its run is stopped, or its time is over, before the node has returned.
class Parting {
public:
    Parting() = default;
    Parting(const Parting&) = delete;
    Parting& operator=(const Parting&) = delete;
    virtual ~Parting() = default;
    /// Returns what counts as the node's result, or none: then nothing of the attempt is kept. Called after the attempt
    /// was abandoned.
    virtual std::optional<TaskResult> take() = 0;
};

/// Has the run take `parting` if it abandons this attempt. Errors: CancelledError if it has.
void leaveAtStop(Runtime& runtime, std::shared_ptr<Parting> parting);

/// While the result is locked, the attempt is not abandoned: what is noted in its parting and what is told meanwhile
/// are the same. Errors: CancelledError if the attempt was abandoned.
[[nodiscard]] std::unique_lock<std::recursive_mutex> heldAttempt(Runtime& runtime);

}  // namespace stategraph::detail
