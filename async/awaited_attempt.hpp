#pragma once
#include <atomic>
#include <memory>
#include <optional>

#include <stategraph/runtime.hpp>
#include <stategraph/task.hpp>

#include "src/task/attempt.hpp"

namespace stategraph::engine {

/// An attempt whose node is a coroutine, and which is awaited. The coroutine belongs to the attempt, and the attempt to
/// itself until it ends.
///
/// The node's home is the attempt, a proxy for the run's home: after the attempt was abandoned, work that waits there,
/// or was posted there and dropped, continues on `attemptThreads`, because the run's home may be destroyed by then. If
/// the awaiting coroutine is destroyed, so is the node, unless a foreign coroutine, which cannot be destroyed, may use
/// what belongs to the node: then the attempt is abandoned.
class AwaitedAttempt final : public Attempt {
public:
    using Attempt::Attempt;

    /// As `run`, without blocking. If the task is destroyed while it waits, the node is destroyed or abandoned.
    static stategraph::Task<End> await(std::shared_ptr<AwaitedAttempt> attempt);

private:
    class Change;
    class Owner;
    class Place;
    struct Posted;

    void start(detail::Home home);
    static void ended(void* self);
    void destroyNode() noexcept;
    void leaveNode() noexcept;
    std::shared_ptr<void> keepNode() override;
    void wake() noexcept override SG_REQUIRES(mutex_);
    std::shared_ptr<AwaitedAttempt> self() { return std::static_pointer_cast<AwaitedAttempt>(shared_from_this()); }

    std::optional<Runtime> runtime_;
    stategraph::Task<void> node_;
    std::shared_ptr<AwaitedAttempt> kept_;            // itself, while the node is there
    std::atomic<int> outside_ = 0;                    // coroutines of others that use what is the node's
    Change* change_ SG_GUARDED_BY(mutex_) = nullptr;  // the waiter
    std::shared_ptr<Place> place_;                    // where the node lives
};

}  // namespace stategraph::engine
