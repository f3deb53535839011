#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include <stategraph/task.hpp>

/// A home for coroutines, with timers, whose work a test executes piece by piece on its own thread, so that it can end
/// a coroutine between any two pieces. It must outlive the coroutines; remaining work is discarded.
class HandHome {
public:
    using Clock = std::chrono::steady_clock;
    using Work = stategraph::detail::Work;

    HandHome() = default;
    HandHome(const HandHome&) = delete;
    HandHome& operator=(const HandHome&) = delete;
    ~HandHome() {
        for (const Timer* timer : timers_) timer->work.drop(timer->work.context);
        for (const Work& work : work_) work.drop(work.context);
    }

    stategraph::detail::Home home() noexcept { return {this, &ops}; }
    /// Executes one piece of work; returns false if none arrived in time.
    bool runOne(std::chrono::milliseconds time) {
        const auto until = Clock::now() + time;
        std::unique_lock lock(mutex_);
        for (;;) {
            takeDue();
            if (!work_.empty()) break;
            if (Clock::now() >= until) return false;
            auto next = until;
            for (const Timer* timer : timers_) next = std::min(next, timer->at);
            came_.wait_until(lock, next);
        }
        const Work work = work_.front();
        work_.pop_front();
        lock.unlock();
        work.run(work.context);
        return true;
    }

private:
    struct Timer {
        HandHome* home;
        Clock::time_point at;
        Work work;
    };

    void takeDue() {
        const auto now = Clock::now();
        std::erase_if(timers_, [&](const Timer* timer) {
            if (timer->at > now) return false;
            work_.push_back(timer->work);
            return true;
        });
    }
    static void post(void* place, const Work& work) {
        auto& home = *static_cast<HandHome*>(place);
        const std::lock_guard lock(home.mutex_);
        home.work_.push_back(work);
        home.came_.notify_all();
    }
    static void startTimer(void* place, Clock::time_point at, const Work& work, void*& timer) {
        auto& home = *static_cast<HandHome*>(place);
        auto* const made = new Timer{&home, at, work};
        timer = made;
        const std::lock_guard lock(home.mutex_);
        home.timers_.push_back(made);
        home.came_.notify_all();
    }
    static void stopTimer(void* given) {
        auto* const timer = static_cast<Timer*>(given);
        const Work work = timer->work;
        {
            const std::lock_guard lock(timer->home->mutex_);
            if (std::erase(timer->home->timers_, timer) == 0) return;
        }
        work.drop(work.context);
    }
    static void endTimer(void* timer) { delete static_cast<Timer*>(timer); }
    static constexpr stategraph::detail::HomeOps ops{
        .post = post, .startTimer = startTimer, .stopTimer = stopTimer, .endTimer = endTimer};

    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<Work> work_;
    std::vector<Timer*> timers_;
};
