#include <condition_variable>
#include <deque>
#include <mutex>

#include <stategraph/detail/async.hpp>

// Blocking until a coroutine ends; meanwhile the thread is where that coroutine and what it awaits go on.
namespace stategraph::detail {
namespace {

class WaitingThread {
public:
    Home home() noexcept { return {this, &ops}; }

    void end() noexcept {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
        changed_.notify_one();
    }

    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return is_over_ || !queue_.empty(); });
            if (is_over_) break;
            const Work work = queue_.front();
            queue_.pop_front();
            lock.unlock();
            work.run(work.context);
            lock.lock();
        }
        // What is left would resume what is gone.
        std::deque<Work> left = std::move(queue_);
        lock.unlock();
        for (const Work& work : left) work.drop(work.context);
    }

private:
    static void post(void* place, const Work& work) {
        auto& self = *static_cast<WaitingThread*>(place);
        const std::lock_guard lock(self.mutex_);
        self.queue_.push_back(work);
        self.changed_.notify_one();  // under the lock: behind it this may be gone
    }
    static constexpr HomeOps ops{.post = post, .may_block = true};

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> queue_;
    bool is_over_ = false;
};

}  // namespace

void waitFor(std::coroutine_handle<> task, TaskPromiseBase& promise) {
    WaitingThread thread;
    promise.startWith(task, [](void* waiter) { static_cast<WaitingThread*>(waiter)->end(); }, &thread, thread.home());
    thread.serve();
}

void waitForNode(Task<void> node) {
    const auto handle = node.handle();
    waitFor(handle, handle.promise());
    handle.promise().take();
}

}  // namespace stategraph::detail
