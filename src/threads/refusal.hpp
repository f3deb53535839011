#pragma once
#include <atomic>
#include <exception>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::engine {

/// Whether a log refused what a run was to store, because another writer was first. From then on nothing of the run
/// counts: no node of it is begun, and no result, question or failure is stored, so that the thread stays as the other
/// writer knows it. It does not matter what a node makes of the exception. Shared by the runs inside each other. Safe
/// from any thread.
class Refusal {
public:
    /// Notes what a put threw. After a failure that is no refusal it is not known what the log holds: a row that is
    /// found there may be this run's own. So later refusals do not count.
    void notePut(const std::exception_ptr& thrown) noexcept;
    /// Notes what a task threw, if it is a refusal.
    void noteTask(const std::exception_ptr& thrown) noexcept;
    bool isNoted() const noexcept { return is_noted_.load(std::memory_order_acquire); }
    /// Whether a put failed in another way.
    bool isUncertain() const noexcept { return is_uncertain_.load(std::memory_order_relaxed); }
    /// Throws a ConcurrentUpdateError if a refusal was noted. For what is inside the root's run.
    void check() const {
        if (isNoted()) [[unlikely]]
            refuse();
    }
    /// Throws a copy of the first refusal, if one was noted. For the end of the root's run.
    void checkFirst() {
        if (isNoted()) [[unlikely]]
            throwFirst();
    }

private:
    [[noreturn]] static void refuse();
    [[noreturn]] void throwFirst();

    std::atomic<bool> is_noted_{false};
    std::atomic<bool> is_uncertain_{false};
    detail::Mutex mutex_;
    std::exception_ptr first_ SG_GUARDED_BY(mutex_);  // a copy, to which no other thread adds a context
};

/// Returns whether an exception says that another writer was first.
bool isRefusal(const std::exception_ptr& thrown) noexcept;

}  // namespace stategraph::engine
