#pragma once
#include <condition_variable>
#include <mutex>

#include <stategraph/detail/async.hpp>

namespace stategraph::engine {

/// Awaits a call that blocks, made on a thread of an executor; then the coroutine goes on where it lives. Destroyed before, it waits for the
/// call's end.
template <class F>
class BlockingCall {
public:
    /// `call` must not throw.
    BlockingCall(Executor& executor, F call) : executor_(executor), call_(std::move(call)) {}
    BlockingCall(const BlockingCall&) = delete;
    BlockingCall& operator=(const BlockingCall&) = delete;
    ~BlockingCall() {
        std::unique_lock lock(mutex_);
        is_abandoned_ = true;
        ended_.wait(lock, [this] { return !is_running_; });
    }

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
        coroutine_ = coroutine;
        const detail::Home home = detail::homeOf(coroutine);
        stays_ = home.ops == detail::homeOf(executor_).ops && home.place == &executor_;
        if (!stays_) wakeup_.prepare(home, coroutine);
        is_running_ = true;
        try {
            executor_.submit(run, this);
        } catch (...) {
            is_running_ = false;
            throw;
        }
    }
    void await_resume() const noexcept {}

private:
    static void run(void* context) {
        auto& self = *static_cast<BlockingCall*>(context);
        self.call_();
        std::unique_lock lock(self.mutex_);
        self.is_running_ = false;
        if (self.is_abandoned_) {
            self.ended_.notify_all();
            return;
        }
        const bool resumes = self.stays_;
        const std::coroutine_handle<> coroutine = self.coroutine_;
        if (!resumes) self.wakeup_.wake();  // under the lock: until then this is there
        lock.unlock();
        if (resumes) coroutine.resume();
    }

    Executor& executor_;
    F call_;
    std::mutex mutex_;
    std::condition_variable ended_;
    std::coroutine_handle<> coroutine_;
    detail::Wakeup wakeup_;
    bool stays_ = false;
    bool is_running_ = false;
    bool is_abandoned_ = false;
};

}  // namespace stategraph::engine
