#pragma once
#include <atomic>
#include <memory>
#include <optional>

#include <stategraph/runtime.hpp>
#include <stategraph/task.hpp>

#include "src/task/attempt.hpp"

namespace stategraph::engine {

/// An attempt that is awaited. If its node is a coroutine, that belongs to the attempt, and the attempt owns itself
/// until it ends. A node that blocks is called by the thread that drives the run, after the run was suspended; that is
/// possible where another thread can continue the run if the node is abandoned (detail::RunThreads).
///
/// A coroutine resumes on the attempt, which is a proxy for the executor on which the run resumes. After it was
/// abandoned, work that waits there, or that was posted there and dropped, continues on `attemptThreads`, because the
/// run's executor may be destroyed by then. If the awaiting coroutine is destroyed, so is the node. The exception is a
/// node whose objects a foreign coroutine, which cannot be destroyed, may use: then the attempt is abandoned.
class AwaitedAttempt final : public Attempt {
public:
    using Attempt::Attempt;

    /// Does the same as `run` without blocking. If the task is destroyed while it waits, the node is destroyed or
    /// abandoned.
    static stategraph::Task<End> await(std::shared_ptr<AwaitedAttempt> attempt);

private:
    class Change;
    class Owner;
    class Place;
    struct Posted;

    bool isCalled() const noexcept { return is_called_; }
    void start(detail::Home home);
    void call(detail::Home home);
    static void ended(void* self);
    void destroyNode() noexcept;
    void leaveNode() noexcept;
    std::shared_ptr<void> keepNode() override;
    void wake() noexcept override SG_REQUIRES(mutex_);
    std::shared_ptr<AwaitedAttempt> self() { return std::static_pointer_cast<AwaitedAttempt>(shared_from_this()); }

    bool is_called_ = false;  // the node is not a coroutine
    std::optional<Runtime> runtime_;
    stategraph::Task<void> node_;
    std::shared_ptr<AwaitedAttempt> kept_;            // owns itself as long as the node exists
    std::atomic<int> outside_ = 0;                    // the number of foreign coroutines that use objects of the node
    Change* change_ SG_GUARDED_BY(mutex_) = nullptr;  // the waiter
    std::shared_ptr<Place> place_;                    // where the node resumes
};

}  // namespace stategraph::engine
