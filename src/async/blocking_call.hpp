#pragma once
#include <atomic>
#include <condition_variable>
#include <new>

#include <stategraph/detail/async.hpp>
#include <stategraph/detail/mutex.hpp>

namespace stategraph::engine {

/// Awaits a blocking call on a thread of an executor, and then resumes the coroutine on its own executor. If the
/// coroutine is destroyed before that, it waits for the call's end, or cancels the call if no thread has begun it.
///
/// If the coroutine resumes on a thread that waits for it, and the executor has no free thread, that thread executes
/// the call: if all threads of the executor wait in this way, no other thread would.
template <class F>
class BlockingCall {
public:
    /// `call` must not throw.
    BlockingCall(Executor& executor, F call) : executor_(executor), call_(std::move(call)) {}
    BlockingCall(const BlockingCall&) = delete;
    BlockingCall& operator=(const BlockingCall&) = delete;
    ~BlockingCall() {
        if (posted_ == nullptr) return;
        const bool is_taken_back = !posted_->is_begun.exchange(true);
        posted_->release();
        if (is_taken_back) return;
        detail::UniqueLock lock(mutex_);
        is_abandoned_ = true;
        ended_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return !is_running_; });
    }

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
        coroutine_ = coroutine;
        const detail::Home home = detail::homeOf(coroutine);
        stays_ = home.ops == detail::homeOf(executor_).ops && home.place == &executor_;
        if (!stays_) wakeup_.prepare(home, coroutine);
        Posted* const posted = posted_ = new Posted(this);
        try {
            if (!home.ops->may_block) {
                executor_.submit(run, posted);
            } else if (!executor_.trySubmit(run, posted)) {
                stays_ = true;
                home.ops->post(home.place, {run, drop, posted});
            }
        } catch (...) {
            posted_ = nullptr;
            delete posted;
            throw;
        }
    }
    void await_resume() const noexcept {}

private:
    // The posted work may be called after the BlockingCall was destroyed. The last of the two deletes this.
    struct Posted {
        explicit Posted(BlockingCall* owner) noexcept : call(owner) {}
        void release() noexcept {
            if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
        }
        BlockingCall* const call;
        std::atomic<bool> is_begun = false;
        std::atomic<int> owners = 2;
    };

    static void drop(void* context) { static_cast<Posted*>(context)->release(); }
    static void run(void* context) {
        auto* const posted = static_cast<Posted*>(context);
        const bool is_mine = !posted->is_begun.exchange(true);
        BlockingCall* const call = posted->call;
        posted->release();
        if (is_mine) call->make();
    }
    void make() {
        call_();
        detail::UniqueLock lock(mutex_);
        is_running_ = false;
        if (is_abandoned_) {
            ended_.notify_all();
            return;
        }
        const bool resumes = stays_;
        const std::coroutine_handle<> coroutine = coroutine_;
        if (!resumes) wakeup_.wake();  // called under the lock, because this object exists until then
        lock.unlock();
        if (resumes) coroutine.resume();
    }

    Executor& executor_;
    F call_;
    detail::Mutex mutex_;
    std::condition_variable ended_;
    std::coroutine_handle<> coroutine_;
    detail::Wakeup wakeup_;
    Posted* posted_ = nullptr;
    bool stays_ = false;
    bool is_running_ SG_GUARDED_BY(mutex_) = true;
    bool is_abandoned_ SG_GUARDED_BY(mutex_) = false;
};

}  // namespace stategraph::engine
