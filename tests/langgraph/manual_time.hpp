#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include <stategraph/detail/mutex.hpp>

#include "langgraph/clock.hpp"
#include "langgraph/identifiers.hpp"

namespace langgraph_tests {

/// A time that stands still until a test moves it. Calls are made by the thread that does.
class ManualTime final : public stategraph::langgraph::Clock {
public:
    explicit ManualTime(std::string_view now) : now_(stategraph::langgraph::timeOf(now)) {}

    Time now() const override {
        const stategraph::detail::LockGuard lock(mutex_);
        return now_;
    }
    void callAt(Time at, std::function<void()> call) override {
        const stategraph::detail::LockGuard lock(mutex_);
        calls_.emplace(at, std::move(call));
    }
    /// Makes all calls until then, each at its time.
    void moveTo(Time time) {
        for (;;) {
            std::function<void()> call;
            {
                const stategraph::detail::LockGuard lock(mutex_);
                const auto first = calls_.begin();
                if (first == calls_.end() || first->first > time) {
                    now_ = std::max(now_, time);
                    return;
                }
                now_ = std::max(now_, first->first);
                call = std::move(first->second);
                calls_.erase(first);
            }
            call();
        }
    }
    void moveTo(std::string_view time) { moveTo(stategraph::langgraph::timeOf(time)); }
    void pass(std::chrono::seconds time) { moveTo(now() + time); }

private:
    mutable stategraph::detail::Mutex mutex_;
    Time now_ SG_GUARDED_BY(mutex_);
    std::multimap<Time, std::function<void()>> calls_ SG_GUARDED_BY(mutex_);
};

}  // namespace langgraph_tests
