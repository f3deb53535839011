#pragma once
#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/ids.hpp>

namespace stategraph::engine {

/// The breakpoints of the root's current superstep at which runs have stopped, those inside its tasks included, each
/// named by the checkpoint that it is at. A run stops at every breakpoint but those at which the log says that one has
/// stopped before: whoever resumed the thread then has seen them. Safe from any thread.
class Gates {
public:
    Gates() noexcept {}  // not defaulted, because `= {}` would fill it with zeros first, once in each run

    /// Call it when a run begins, with what the log says.
    void setPassed(std::vector<CheckpointId> ids) {
        const detail::LockGuard lock(mutex_);
        passed_ = std::move(ids);
        any_.store(!passed_.empty() || !stops_.empty(), std::memory_order_relaxed);
    }
    /// Returns whether a run goes on behind the breakpoint.
    bool isPassed(CheckpointId at) {
        if (!any_.load(std::memory_order_relaxed)) return false;
        const detail::LockGuard lock(mutex_);
        return std::ranges::find(passed_, at) != passed_.end();
    }
    /// Notes that the run of a log stops at the breakpoint.
    void noteStop(std::string_view ns, CheckpointId at) {
        const detail::LockGuard lock(mutex_);
        stops_.push_back({std::string(ns), at});
        any_.store(true, std::memory_order_relaxed);
    }
    /// Returns whether the run of this log, or one inside it, has stopped at a breakpoint.
    bool anyStopIn(std::string_view ns) {
        if (!any_.load(std::memory_order_relaxed)) return false;
        const detail::LockGuard lock(mutex_);
        const auto isIn = [ns](const Stop& stop) {
            return ns.empty() || stop.ns == ns || (stop.ns.starts_with(ns) && stop.ns[ns.size()] == '|');
        };
        return std::ranges::any_of(stops_, isIn);
    }
    /// Returns what the log is to say: the breakpoints that were passed, and with `with_stops` those at which this run
    /// has stopped, in the order of their ids.
    std::vector<CheckpointId> toStore(bool with_stops) {
        if (!any_.load(std::memory_order_relaxed)) return {};
        const detail::LockGuard lock(mutex_);
        std::vector<CheckpointId> ids = passed_;
        if (with_stops) {
            for (const Stop& stop : stops_) ids.push_back(stop.at);
        }
        std::ranges::sort(ids);
        const auto doubled = std::ranges::unique(ids);
        ids.erase(doubled.begin(), doubled.end());
        return ids;
    }
    /// Call it at the end of the superstep.
    void clear() {
        if (!any_.load(std::memory_order_relaxed)) return;
        const detail::LockGuard lock(mutex_);
        passed_.clear();
        stops_.clear();
        any_.store(false, std::memory_order_relaxed);
    }

private:
    struct Stop {
        std::string ns;
        CheckpointId at;
    };

    detail::Mutex mutex_;
    std::atomic<bool> any_{false};
    std::vector<CheckpointId> passed_ SG_GUARDED_BY(mutex_);
    std::vector<Stop> stops_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::engine
