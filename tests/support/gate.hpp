#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace gates {

/// Lets a test decide when a node, a tool or a model continues.
class Gate {
public:
    void open() {
        const std::lock_guard lock(mutex_);
        is_open_ = true;
        changed_.notify_all();
    }
    /// Waits until it is open. Returns false if it was not within five minutes.
    bool wait() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::minutes(5), [this] { return is_open_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_open_ = false;
};

}  // namespace gates
