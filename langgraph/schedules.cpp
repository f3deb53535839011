#include "langgraph/schedules.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/error.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/call.hpp"
#include "langgraph/cron_expression.hpp"
#include "langgraph/run_begin.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/thread_expiry.hpp"
#include "langgraph/time_zone.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr auto look_interval = std::chrono::minutes(1);
constexpr auto place_interval = std::chrono::seconds(10);
constexpr std::size_t due_max = 100;

/// A request that nobody sends: the run of a schedule is asked for like any other.
class OwnRequest final : public serve::RequestView {
public:
    std::string_view method() const override { return "POST"; }
    std::string_view target() const override { return "/runs"; }
    std::string_view header(std::string_view) const override { return {}; }
};

}  // namespace

std::optional<Clock::Time> nextOf(const ScheduleRecord& schedule, Clock::Time after) {
    const TimeZone zone = TimeZone::named(schedule.timezone.empty() ? "UTC" : schedule.timezone);
    const auto next =
        CronExpression::parse(schedule.schedule).nextAfter(std::chrono::floor<std::chrono::seconds>(after), zone);
    if (!next || (schedule.end_time && *next > *schedule.end_time)) return {};
    return Clock::Time(*next);
}

json::object requestOf(const ScheduleRecord& schedule) {
    json::object body = schedule.payload;
    body["metadata"] = merged(schedule.metadata, {{"cron_id", schedule.cron_id}});
    if (schedule.thread_id.empty()) body["on_completion"] = schedule.keeps_threads ? "keep" : "delete";
    return body;
}

Schedules::Schedules(Service& service) : service_(service), records_(service.options.store) {}

void Schedules::begin() { expect(service_.clock->now()); }

void Schedules::expect(Clock::Time at) {
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (looks_at_ && *looks_at_ <= at) return;
        looks_at_ = at;
    }
    service_.clock->callAt(at, [owner = service_.weak_from_this(), at] {
        if (const auto service = owner.lock()) service->schedules->look(at);
    });
}

void Schedules::look(Clock::Time expected) noexcept {
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (looks_at_ != expected) return;  // it has looked earlier, and there is another call
        looks_at_.reset();
        if (is_looking_) {
            looks_again_ = true;
            return;
        }
        is_looking_ = true;
    }
    for (bool is_done = false; !is_done;) {
        Clock::Time next = service_.clock->now() + look_interval;
        try {
            next = std::min(next, runDue());
            next = std::min(next, endExpired(service_));
        } catch (const std::exception& why) {  // the store may work again in a minute
            if (const serve::ErrorText told = service_.errorTexts({}, {}))
                (void)told("What is due could not be read", why.what());
        }
        {
            const stategraph::detail::LockGuard lock(mutex_);
            is_done = !std::exchange(looks_again_, false);
            if (is_done) is_looking_ = false;
        }
        if (is_done && !service_.server.isEnding()) expect(next);
    }
}

Clock::Time Schedules::runDue() {
    for (;;) {
        const std::vector<ScheduleRecords::Due> first = records_.first(due_max);
        const Clock::Time now = service_.clock->now();
        for (const ScheduleRecords::Due& due : first) {
            if (due.at > now) return due.at;
            if (service_.server.isEnding()) return Clock::Time::max();
            if (!run(due)) return now + place_interval;
        }
        if (first.empty()) return Clock::Time::max();
    }
}

bool Schedules::run(const ScheduleRecords::Due& due) {
    const auto stored = records_.find(due.cron_id);
    if (!stored || !stored->record.is_enabled || stored->record.next != due.at) {
        service_.records.store(ScheduleRecords::removal(due));
        return true;
    }
    ScheduleRecord after = stored->record;
    std::string why;
    try {
        // Times that were missed are due once.
        after.next = nextOf(after, std::max(service_.clock->now(), due.at));
    } catch (const InvalidArgumentError& unknown) {  // this machine does not know the time zone
        after.is_enabled = false;
        why = unknown.what();
    }
    const ApiRecords::Batch change = ScheduleRecords::change(*stored, after);
    try {
        if (why.empty()) {
            beginRunOf(stored->record, change);
            return true;
        }
    } catch (const StoreChangedError&) {
        return true;  // another server was first, or a client has changed it
    } catch (const StoreError&) {
        throw;
    } catch (const ApiError& refused) {
        if (refused.status() == 503) return false;
        why = refused.what();
    } catch (const std::exception& failed) {
        why = failed.what();
    }
    if (const serve::ErrorText told = service_.errorTexts({}, stored->record.thread_id))
        (void)told("The schedule " + due.cron_id + " could not begin its run", why);
    try {
        service_.records.store(change);
    } catch (const StoreChangedError&) {  // the same
    }
    return true;
}

void Schedules::beginRunOf(const ScheduleRecord& schedule, const ApiRecords::Batch& change) {
    const OwnRequest own;
    serve::HandlerRequest request{.request = own, .segments = {}, .query = {}, .body = {}};
    if (!schedule.user_id.empty()) request.identity = serve::Identity{.name = schedule.user_id};
    const std::optional<std::string> thread_id =
        schedule.thread_id.empty() ? std::nullopt : std::optional(schedule.thread_id);
    (void)beginRun(Call(service_, request, {}), Body(requestOf(schedule), {}), thread_id, change);
}

}  // namespace stategraph::langgraph
