#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/task.hpp>

#include "langgraph/records.hpp"
#include "langgraph/service.hpp"

namespace stategraph::langgraph {

/// The calls that report the ends of runs. A call is stored together with the end of its run, and removed when it was
/// received, so that it is made at least once: if the process dies, the next one makes it. Safe from any thread.
class Webhooks {
public:
    explicit Webhooks(Service& service) : service_(service) {}

    /// What is to be stored with the end of a run; nothing if it has no webhook. `result` is what clients get who wait
    /// for it; empty: the values of its thread.
    ApiRecords::Batch callOf(const RunRecord& ended, const std::string& result) const;
    /// Makes the call of a run, if there is one, after it was stored.
    void send(const RunRecord& ended);
    /// Makes the calls that other processes have left. Errors: the store's.
    void sendLeft();

private:
    void enter(std::string run_id);
    void enterLater(const std::string& run_id, Clock::Time::duration wait);
    void beginSome();
    static Task<> sendOne(std::shared_ptr<Service> service, std::string run_id);
    /// Notes that a try failed, and when the next one is; after the last one the call is removed.
    void putOff(const StoreItem& stored, boost::json::object call, const std::string& why);

    Service& service_;  // owns this
    stategraph::detail::Mutex mutex_;
    std::deque<std::string> waiting_ SG_GUARDED_BY(mutex_);  // by the ids of their runs
    std::size_t sending_ SG_GUARDED_BY(mutex_) = 0;
};

}  // namespace stategraph::langgraph
