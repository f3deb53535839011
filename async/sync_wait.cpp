#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

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
        std::vector<Work> taken;
        std::size_t next = 0;  // in `taken`
        for (;;) {
            if (next == taken.size()) {
                changed_.wait(lock, [this] { return is_over_ || !queue_.empty(); });
                taken.clear();
                next = 0;
                std::swap(taken, queue_);
            }
            if (is_over_) break;
            const Work work = taken[next++];
            lock.unlock();
            work.run(work.context);
            lock.lock();
        }
        // What is left would resume what is gone.
        const std::vector<Work> left = std::move(queue_);
        lock.unlock();
        for (; next < taken.size(); ++next) taken[next].drop(taken[next].context);
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
    std::vector<Work> queue_;  // takes no memory until a coroutine waits for something
    bool is_over_ = false;
};

}  // namespace

void waitFor(std::coroutine_handle<> task, TaskPromiseBase& promise) {
    WaitingThread thread;
    promise.startWith(
        task, [](void* waiter) { static_cast<WaitingThread*>(waiter)->end(); }, &thread, thread.home());
    thread.serve();
}

}  // namespace stategraph::detail
