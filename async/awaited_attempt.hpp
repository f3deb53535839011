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
/// The node's home is the attempt, which stands in for the run's: what waits there, or was posted there and dropped,
/// goes on on
/// `attemptThreads` once the attempt was given up, as the run's home may then be gone. If whoever awaits it is
/// destroyed, so is the node, unless a coroutine of others, which cannot be destroyed, may use what is the node's: then
/// the attempt is given up.
class AwaitedAttempt final : public Attempt {
public:
    using Attempt::Attempt;

    /// As `run`, without blocking. If the task is destroyed while it waits, so is the node, or it is given up.
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
    Change* change_ SG_GUARDED_BY(mutex_) = nullptr;  // who waits
    std::shared_ptr<Place> place_;                    // where the node lives
};

}  // namespace stategraph::engine
