#pragma once
#include <chrono>
#include <condition_variable>
#include <memory>
#include <stop_token>
#include <vector>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::workflow {

/// Says when a waker must look next. Runs of this process that fall asleep ring it.
class Bell {
public:
    using Time = std::chrono::system_clock::time_point;

    void ringAt(Time time) {
        const stategraph::detail::LockGuard lock(mutex_);
        next_ = std::min(next_, time);
        changed_.notify_all();
    }
    /// Waits until `latest`, an earlier ring, or a stop, and then forgets the ring.
    void wait(Time latest, const std::stop_token& stop) {
        stategraph::detail::UniqueLock lock(mutex_);
        while (!stop.stop_requested()) {
            const Time until = std::min(latest, next_);
            if (std::chrono::system_clock::now() >= until) break;
            changed_.wait_until(lock.native(), stop, until, [&]() SG_REQUIRES(mutex_) { return next_ < until; });
        }
        next_ = Time::max();
    }

private:
    stategraph::detail::Mutex mutex_;
    std::condition_variable_any changed_;
    Time next_ SG_GUARDED_BY(mutex_) = Time::max();
};

/// The bells of a flow's wakers. Safe from any thread.
class Bells {
public:
    void add(const std::shared_ptr<Bell>& bell) {
        const stategraph::detail::LockGuard lock(mutex_);
        std::erase_if(bells_, [](const auto& each) { return each.expired(); });
        bells_.push_back(bell);
    }
    void ringAt(Bell::Time time) const {
        const stategraph::detail::LockGuard lock(mutex_);
        for (const auto& each : bells_) {
            if (const auto bell = each.lock()) bell->ringAt(time);
        }
    }

private:
    mutable stategraph::detail::Mutex mutex_;
    std::vector<std::weak_ptr<Bell>> bells_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::workflow
