#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/json.hpp>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/langgraph/graph.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/serve/admission.hpp>

#include "langgraph/records.hpp"
#include "langgraph/run_feed.hpp"
#include "langgraph/service.hpp"
#include "langgraph/thread_events.hpp"

namespace stategraph::langgraph {

/// A run of this process, from its creation until its events are forgotten. Safe from any thread.
class LiveRun {
public:
    /// `work`: what the run does; empty: another process has left the run, and what it still has to do is found out
    /// when it begins.
    LiveRun(RunRecord asked, std::shared_ptr<const ServedGraph> graph, std::optional<serve::Identity> who,
            detail::Work work, const Service& service);

    /// The time before which it does not begin.
    Clock::Time beginsAt() const noexcept { return begins_at_; }
    /// What was asked for; its status is that of the beginning.
    const RunRecord& asked() const noexcept { return asked_; }
    const ServedGraph& graph() const noexcept { return *graph_; }
    const std::optional<serve::Identity>& identity() const noexcept { return identity_; }
    const detail::Work& work() const noexcept { return work_; }
    bool isLeftOver() const noexcept { return !work_; }
    RunFeed& feed() noexcept { return feed_; }

    /// The record with the status of now, "running" included.
    RunRecord record() const;
    std::string status() const;
    bool hasEnded() const;

    /// Marks it as running; false if it was cancelled or has ended.
    bool begin();
    /// Has it wait again, because the server cannot begin it now. False: it was cancelled meanwhile, and the caller
    /// ends it.
    bool waitAgain();
    /// The place among the runs of this process in the order in which they began; 0: it has not begun.
    std::uint64_t order() const noexcept { return order_; }
    void order(std::uint64_t place) noexcept { order_ = place; }
    /// Gives it what stops it. If it was cancelled meanwhile, it is stopped.
    void control(std::shared_ptr<RunControl> control);
    /// Has it stop, and end as interrupted, or be rolled back. Returns whether it had not begun, so that nobody else
    /// ends it.
    bool cancel(bool rolls_back = false);
    bool isCancelled() const;
    /// Notes how the thread stood before it (RunRecord::before).
    void note(boost::json::array before);

    /// From now on nobody can cancel it. Returns whether it is rolled back.
    bool beginEnd();

    /// What writes its events for clients of the second protocol; null: none has asked for the thread before it began.
    void threadEvents(std::shared_ptr<ThreadEvents> events);
    std::shared_ptr<ThreadEvents> threadEvents() const;

    /// Sets how it ended. `result` is what clients get who wait for it.
    void end(const std::string& status, const std::string& ended_at, std::string result);
    /// What clients get who wait for it; empty: the values of its thread.
    std::string result() const;

private:
    const RunRecord asked_;
    const Clock::Time begins_at_;
    const std::shared_ptr<const ServedGraph> graph_;
    const std::optional<serve::Identity> identity_;
    const detail::Work work_;
    RunFeed feed_;
    std::atomic<std::uint64_t> order_ = 0;
    mutable stategraph::detail::Mutex mutex_;
    std::string status_ SG_GUARDED_BY(mutex_) = "pending";
    std::string ended_at_ SG_GUARDED_BY(mutex_);
    std::string result_ SG_GUARDED_BY(mutex_);
    boost::json::array before_ SG_GUARDED_BY(mutex_);
    bool is_cancelled_ SG_GUARDED_BY(mutex_) = false;
    bool is_rolled_back_ SG_GUARDED_BY(mutex_) = false;
    bool is_ending_ SG_GUARDED_BY(mutex_) = false;
    std::shared_ptr<RunControl> control_ SG_GUARDED_BY(mutex_);
    std::shared_ptr<ThreadEvents> thread_events_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::langgraph
