#pragma once
#include <memory>
#include <optional>
#include <string>

#include <boost/json.hpp>

#include <stategraph/detail/mutex.hpp>

#include "langgraph/clock.hpp"
#include "langgraph/schedule_records.hpp"
#include "langgraph/service.hpp"

namespace stategraph::langgraph {

/// When a schedule is due after a time; none: not before its end. Errors: InvalidArgumentError for an expression or a
/// time zone that cannot be read.
std::optional<Clock::Time> nextOf(const ScheduleRecord& schedule, Clock::Time after);
/// The body of the request with which each of its runs is asked for.
boost::json::object requestOf(const ScheduleRecord& schedule);

/// Begins the runs of schedules when they are due. A due time that passed while no server ran is due once, when one
/// begins. The run is stored in one write with the schedule's next time, which only the first of several servers makes.
/// Threads whose time is over are ended on the same occasions (thread_expiry.hpp). Safe from any thread.
class Schedules {
public:
    explicit Schedules(Service& service);

    /// Looks for what is due, and from then on at each time when something may be, and once a minute, because
    /// another server may have added schedules.
    void begin();
    /// A schedule is due at this time, or the time of a thread is over.
    void expect(Clock::Time at);
    const ScheduleRecords& records() const noexcept { return records_; }

private:
    void look(Clock::Time expected) noexcept;
    /// Begins all that is due, and returns when to look again. Errors: the store's.
    Clock::Time runDue();
    /// Begins a run. Returns false if the server has no place for it now. Errors: the store's.
    bool run(const ScheduleRecords::Due& due);
    void beginRunOf(const ScheduleRecord& schedule, const ApiRecords::Batch& change);

    Service& service_;  // owns this
    const ScheduleRecords records_;
    stategraph::detail::Mutex mutex_;
    std::optional<Clock::Time> looks_at_ SG_GUARDED_BY(mutex_);  // the call that counts: the earliest
    bool is_looking_ SG_GUARDED_BY(mutex_) = false;
    bool looks_again_ SG_GUARDED_BY(mutex_) = false;
};

}  // namespace stategraph::langgraph
