#pragma once
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

namespace stategraph::workflow {

/// When a waker is to look next: rung by runs of this process that fall asleep.
class Bell {
public:
    using Time = std::chrono::system_clock::time_point;

    void ringAt(Time time) {
        const std::lock_guard lock(mutex_);
        next_ = std::min(next_, time);
        changed_.notify_all();
    }
    /// Waits until `latest`, an earlier ring, or a stop. Forgets the ring.
    void wait(Time latest, const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            const Time until = std::min(latest, next_);
            if (std::chrono::system_clock::now() >= until) break;
            changed_.wait_until(lock, stop, until, [&] { return next_ < until; });
        }
        next_ = Time::max();
    }

private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    Time next_ = Time::max();
};

/// The bells of a flow's wakers. Safe from any thread.
class Bells {
public:
    void add(const std::shared_ptr<Bell>& bell) {
        const std::lock_guard lock(mutex_);
        std::erase_if(bells_, [](const auto& each) { return each.expired(); });
        bells_.push_back(bell);
    }
    void ringAt(Bell::Time time) const {
        const std::lock_guard lock(mutex_);
        for (const auto& each : bells_) {
            if (const auto bell = each.lock()) bell->ringAt(time);
        }
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::weak_ptr<Bell>> bells_;
};

}  // namespace stategraph::workflow
