#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include <stategraph/executor.hpp>

namespace stategraph::langgraph {

/// The time, and calls at a later time. Tests have one of their own. Safe from any thread.
class Clock {
public:
    using Time = std::chrono::system_clock::time_point;

    virtual ~Clock() = default;
    virtual Time now() const = 0;
    /// Calls `call` once, at `at` or soon after, unless the clock is destroyed before. It must not throw.
    virtual void callAt(Time at, std::function<void()> call) = 0;
};

/// The system's time. Calls are made on the executor, and no thread waits for them: the earliest one has a timer.
std::shared_ptr<Clock> systemClock(std::shared_ptr<Executor> executor);

}  // namespace stategraph::langgraph
