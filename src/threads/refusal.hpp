#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/ids.hpp>

namespace stategraph::engine {

/// Whether a log refused what a run was to store, because another writer was first. From then on nothing of the run
/// counts: no node of it is begun, and no question or failure is stored, so that the thread stays as the other writer
/// knows it. It does not matter what a node makes of the exception. A task that ends meanwhile, and met no refusal
/// itself, has happened: its result is stored if nobody has stored anything in its place. Shared by the runs inside
/// each other. Safe from any thread.
class Refusal {
public:
    /// Notes what a put threw. After a failure that is no refusal it is not known what the log holds: a row that is
    /// found there may be this run's own. So later refusals do not count.
    void notePut(const std::exception_ptr& thrown) noexcept;
    /// Notes what a task threw, if it is a refusal.
    void noteTask(const std::exception_ptr& thrown) noexcept;
    /// Notes that an effect was refused; `path` is its row's.
    void noteEffect(std::string_view path) noexcept;
    /// Notes that a graph was refused that the task called.
    void noteCall(TaskId task) noexcept;
    /// Whether the task met a refusal, whatever it made of it.
    bool hasMet(TaskId task) const noexcept;
    bool isNoted() const noexcept { return is_noted_.load(std::memory_order_acquire); }
    /// Whether a put failed in another way.
    bool isUncertain() const noexcept { return is_uncertain_.load(std::memory_order_relaxed); }
    /// Throws a ConcurrentUpdateError.
    [[noreturn]] static void refuse();
    /// Does that if a refusal was noted. For what is inside the root's run.
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
    template <class F>
    void noteMet(F begin) noexcept;
    [[noreturn]] void throwFirst();

    std::atomic<bool> is_noted_{false};
    std::atomic<bool> is_uncertain_{false};
    mutable detail::Mutex mutex_;
    std::set<std::string, std::less<>> met_ SG_GUARDED_BY(mutex_);  // the beginnings of the paths of tasks' effects
    bool knows_all_met_ SG_GUARDED_BY(mutex_) = true;               // false: there was no memory
    std::exception_ptr first_ SG_GUARDED_BY(mutex_);                // a copy, to which no other thread adds a context
};

/// Returns whether an exception says that another writer was first.
bool isRefusal(const std::exception_ptr& thrown) noexcept;

}  // namespace stategraph::engine
