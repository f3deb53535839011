#pragma once
#include <condition_variable>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>

#include "tests/support/graphs.hpp"

// Runs with a RunControl, and a gate for their nodes.
namespace controlled {

using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;

/// A gate at which nodes wait until the test opens it, even if they are stopped. Nobody waits for more than five
/// minutes.
class Gate {
public:
    void wait() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.notify_all();
        changed_.wait_for(lock, 5min, [this] { return open_; });
        ++left_;
        changed_.notify_all();
    }
    void awaitSomebody(int number = 1) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, 5min, [&] { return waiting_ >= number; });
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    void awaitLeft(int number = 1) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, 5min, [&] { return left_ >= number; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
    int waiting_ = 0;
    int left_ = 0;
};

inline sg::RunConfig with(std::shared_ptr<sg::RunControl> control, std::string thread = "t") {
    sg::RunConfig config;
    config.thread_id = thread;
    config.control = std::move(control);
    return config;
}

inline Status reasonOf(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    const auto all = saver->unfinishedThreads();
    REQUIRE(all.size() == 1);
    return all.front().reason;
}

inline const sg::Config thread_t{.thread_id = "t"};

}  // namespace controlled
