#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/store.hpp>
#include <stategraph/value.hpp>

#include "langgraph/clock.hpp"
#include "langgraph/records.hpp"

namespace stategraph::langgraph {

/// A schedule as a client made it, and when it is due next.
struct ScheduleRecord {
    std::string cron_id = {};
    std::string assistant_id = {};
    std::string thread_id = {};  // empty: each run has a thread of its own
    std::string user_id = {};    // the name of who made it; empty: nobody
    std::string created_at = {};
    std::string updated_at = {};
    std::string schedule = {};
    std::string timezone = {};  // empty: UTC
    std::optional<Clock::Time> end_time = {};
    std::optional<Clock::Time> next = {};  // none: it is never due any more
    bool is_enabled = true;
    bool keeps_threads = false;
    boost::json::object payload = {};  // what is asked of each run
    boost::json::object metadata = {};
};

/// A schedule, and the value that the store has of it.
struct StoredSchedule {
    ScheduleRecord record;
    Value value;
};

/// Schedules in a store, also by the time at which they are due. Safe from any thread. Errors of all calls: the
/// store's.
class ScheduleRecords {
public:
    explicit ScheduleRecords(std::shared_ptr<BaseStore> store) : store_(std::move(store)) {}

    std::optional<StoredSchedule> find(const std::string& cron_id) const;
    void forEach(const std::function<void(ScheduleRecord&&)>& take) const;

    struct Due {
        Clock::Time at;
        std::string cron_id;
    };
    /// Those that are due first, the earliest first.
    std::vector<Due> first(std::size_t limit) const;

    static ApiRecords::Batch addition(const ScheduleRecord& added);
    /// If somebody has changed the schedule since it was read, to store this changes nothing and throws
    /// StoreChangedError: of several servers that find it due, one begins its run.
    static ApiRecords::Batch change(const StoredSchedule& before, const ScheduleRecord& after);
    static ApiRecords::Batch removal(const StoredSchedule& removed);
    /// Forgets a time at which a schedule is not due.
    static ApiRecords::Batch removal(const Due& due);

private:
    std::shared_ptr<BaseStore> store_;
};

}  // namespace stategraph::langgraph
