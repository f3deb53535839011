#pragma once
#include <atomic>
#include <coroutine>
#include <vector>

#include <stategraph/task.hpp>

namespace stategraph::engine {

/// Awaits several tasks, which run at the same time. When all have ended, it throws the error of the first task that
/// failed.
class Group {
public:
    explicit Group(std::vector<stategraph::Task<void>> tasks) : tasks_(std::move(tasks)) {}
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    bool await_ready() const noexcept { return tasks_.empty(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> waiter) {
        waiter_ = waiter;
        left_.store(tasks_.size() + 1, std::memory_order_relaxed);
        const detail::Home home = waiter.promise().home();
        for (const auto& task : tasks_) task.handle().promise().startWith(task.handle(), ended, this, home);
        return left_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    void await_resume() const {
        for (const auto& task : tasks_) task.handle().promise().take();
    }

private:
    static void ended(void* context) {
        auto& self = *static_cast<Group*>(context);
        const std::coroutine_handle<> waiter = self.waiter_;
        if (self.left_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiter.resume();
    }

    std::vector<stategraph::Task<void>> tasks_;
    std::coroutine_handle<> waiter_;
    std::atomic<std::size_t> left_{0};
};

}  // namespace stategraph::engine
