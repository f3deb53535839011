#include <condition_variable>
#include <utility>
#include <vector>

#include <stategraph/detail/async.hpp>
#include <stategraph/detail/mutex.hpp>

// Blocks until a coroutine ends; meanwhile that coroutine, and what it awaits, resume on this thread.
namespace stategraph::detail {
namespace {

class WaitingThread {
public:
    Home home() noexcept { return {this, &ops}; }

    void end() noexcept {
        const detail::LockGuard lock(mutex_);
        is_over_ = true;
        changed_.notify_one();
    }

    void serve() {
        detail::UniqueLock lock(mutex_);
        std::vector<Work> taken;
        std::size_t next = 0;  // index in `taken`
        for (;;) {
            if (next == taken.size()) {
                changed_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return is_over_ || !queue_.empty(); });
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
        // The remaining work must not run, because it would resume destroyed coroutines.
        const std::vector<Work> left = std::move(queue_);
        lock.unlock();
        for (; next < taken.size(); ++next) taken[next].drop(taken[next].context);
        for (const Work& work : left) work.drop(work.context);
    }

private:
    static void post(void* place, const Work& work) {
        auto& self = *static_cast<WaitingThread*>(place);
        const detail::LockGuard lock(self.mutex_);
        self.queue_.push_back(work);
        self.changed_.notify_one();  // under the lock, because this object may be destroyed afterwards
    }
    static constexpr HomeOps ops{.post = post, .may_block = true};

    detail::Mutex mutex_;
    std::condition_variable changed_;
    std::vector<Work> queue_ SG_GUARDED_BY(mutex_);  // uses no memory until a coroutine waits for something
    bool is_over_ SG_GUARDED_BY(mutex_) = false;
};

}  // namespace

void waitFor(std::coroutine_handle<> task, TaskPromiseBase& promise) {
    WaitingThread thread;
    promise.startWith(
        task, [](void* waiter) { static_cast<WaitingThread*>(waiter)->end(); }, &thread, thread.home());
    thread.serve();
}

}  // namespace stategraph::detail
