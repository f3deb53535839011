#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/error.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/assistants.hpp"
#include "langgraph/call.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/run_begin.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/schedules.hpp"
#include "langgraph/thread_view.hpp"

// Schedules are made, found, changed and deleted.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// The members of a request that each run is asked with.
constexpr const char* run_members[] = {"assistant_id",     "input",
                                       "config",           "context",
                                       "webhook",          "interrupt_before",
                                       "interrupt_after",  "multitask_strategy",
                                       "stream_mode",      "stream_subgraphs",
                                       "stream_resumable", "durability",
                                       "checkpoint_during"};

json::object scheduleJson(const ScheduleRecord& schedule) {
    const auto text = [](const std::string& given) { return given.empty() ? json::value() : json::value(given); };
    const auto time = [](const std::optional<Clock::Time>& given) {
        return given ? json::value(isoTime(*given, 6)) : json::value();
    };
    json::value on_run_completed;
    if (schedule.thread_id.empty()) on_run_completed = schedule.keeps_threads ? "keep" : "delete";
    return {{"cron_id", schedule.cron_id},
            {"assistant_id", schedule.assistant_id},
            {"thread_id", text(schedule.thread_id)},
            {"user_id", text(schedule.user_id)},
            {"schedule", schedule.schedule},
            {"timezone", text(schedule.timezone)},
            {"next_run_date", schedule.is_enabled ? time(schedule.next) : json::value()},
            {"end_time", time(schedule.end_time)},
            {"enabled", schedule.is_enabled},
            {"on_run_completed", std::move(on_run_completed)},
            {"payload", schedule.payload},
            {"metadata", schedule.metadata},
            {"created_at", schedule.created_at},
            {"updated_at", schedule.updated_at}};
}

std::optional<Clock::Time> endIn(const Body& body) {
    const std::optional<std::string> text = body.text("end_time");
    if (!text) return {};
    try {
        return timeOf(*text);
    } catch (const InvalidRequest& why) {
        body.refuse("end_time", why.what());
    }
}

/// Sets what a request says of a schedule.
void read(const Body& body, ScheduleRecord& schedule) {
    for (const char* const name : run_members) {
        if (const json::value* const given = body.members().if_contains(name)) schedule.payload[name] = *given;
    }
    schedule.schedule = body.text("schedule", schedule.schedule);
    schedule.timezone = body.text("timezone", schedule.timezone);
    schedule.is_enabled = body.flag("enabled", schedule.is_enabled);
    if (body.has("metadata")) schedule.metadata = body.object("metadata");
    if (body.members().contains("end_time")) schedule.end_time = endIn(body);
    if (body.has("on_run_completed"))
        schedule.keeps_threads = body.choice("on_run_completed", {"delete", "keep"}) == "keep";
}

/// Checks a schedule and its runs, and finds out when it is due.
void check(const Call& call, ScheduleRecord& schedule) {
    checkRun(call, Body(requestOf(schedule), {}),
             schedule.thread_id.empty() ? std::nullopt : std::optional(schedule.thread_id));
    try {
        schedule.next = nextOf(schedule, call.service().clock->now());
    } catch (const InvalidArgumentError& why) {
        throw InvalidRequest("schedule: " + why.message());
    }
    if (!schedule.next && schedule.is_enabled) throw InvalidRequest("end_time: the schedule is not due before it");
}

StoredSchedule findSchedule(const Call& call) {
    const std::string& id = call.id(0);
    if (!isUuid(id)) throw InvalidRequest("Invalid cron ID: must be a UUID");
    const std::string asking = call.owner();
    auto found = call.service().schedules->records().find(id);
    if (!found || (!asking.empty() && found->record.user_id != asking))
        throw NotFound("Cron with ID " + id + " not found");
    return *std::move(found);
}

serve::HandlerAnswer create(const Call& call, const std::string& thread_id) {
    call.countStored();
    const Service& service = call.service();
    const Body body = call.body();
    if (!body.has("schedule")) body.refuse("schedule", "is required");
    const std::optional<std::string> assistant_id = body.text("assistant_id");
    if (!assistant_id) body.refuse("assistant_id", "is required");
    ScheduleRecord schedule{.cron_id = newId(),
                            .assistant_id = findAssistant(call, *assistant_id).assistant_id,
                            .thread_id = thread_id,
                            .created_at = now()};
    if (call.request().identity) schedule.user_id = call.request().identity->name;
    schedule.updated_at = schedule.created_at;
    read(body, schedule);
    check(call, schedule);
    service.records.store(ScheduleRecords::addition(schedule));
    if (schedule.is_enabled) service.schedules->expect(*schedule.next);
    return answerOf(scheduleJson(schedule));
}

serve::HandlerAnswer createSchedule(const Call& call) { return create(call, {}); }
serve::HandlerAnswer createThreadSchedule(const Call& call) { return create(call, call.thread().thread_id); }

serve::HandlerAnswer patchSchedule(const Call& call) {
    call.countStored();
    const Service& service = call.service();
    const Body body = call.body();
    const StoredSchedule before = findSchedule(call);
    ScheduleRecord schedule = before.record;
    read(body, schedule);
    if (const auto assistant_id = body.text("assistant_id"))
        schedule.assistant_id = findAssistant(call, *assistant_id).assistant_id;
    schedule.updated_at = now();
    check(call, schedule);
    service.records.store(ScheduleRecords::change(before, schedule));
    if (schedule.is_enabled) service.schedules->expect(*schedule.next);
    return answerOf(scheduleJson(schedule));
}

serve::HandlerAnswer deleteSchedule(const Call& call) {
    call.service().records.store(ScheduleRecords::removal(findSchedule(call)));
    return noContent();
}

std::vector<ScheduleRecord> matchingSchedules(const Call& call, const Body& body) {
    const std::string asking = call.owner();
    const std::optional<std::string> thread_id = body.text("thread_id");
    std::optional<std::string> assistant_id = body.text("assistant_id");
    if (assistant_id) assistant_id = findAssistant(call, *assistant_id).assistant_id;
    const bool names_enabled = body.has("enabled");
    const bool is_enabled = body.flag("enabled", true);
    const json::object metadata = body.object("metadata");
    std::vector<ScheduleRecord> found;
    call.service().schedules->records().forEach([&](ScheduleRecord&& each) {
        if (!asking.empty() && each.user_id != asking) return;
        if (thread_id && each.thread_id != *thread_id) return;
        if (assistant_id && each.assistant_id != *assistant_id) return;
        if (names_enabled && each.is_enabled != is_enabled) return;
        if (contains(each.metadata, metadata)) found.push_back(std::move(each));
    });
    return found;
}

serve::HandlerAnswer searchSchedules(const Call& call) {
    const Body body = call.bodyIfGiven();
    const std::size_t limit = body.number("limit", 1, 1000).value_or(10);
    const std::size_t offset = body.number("offset", 0, SIZE_MAX / 2).value_or(0);
    const std::string by = body.choice(
        "sort_by", {"created_at", "updated_at", "cron_id", "assistant_id", "thread_id", "next_run_date", "end_time"});
    const bool ascends = body.choice("sort_order", {"desc", "asc"}) == "asc";
    std::vector<std::pair<std::string, json::object>> found;
    for (const ScheduleRecord& each : matchingSchedules(call, body)) {
        json::object shown = scheduleJson(each);
        const json::value& key = shown.at(by);
        found.emplace_back(key.is_string() ? std::string(key.get_string()) : std::string(), std::move(shown));
    }
    std::ranges::stable_sort(
        found, [&](const auto& a, const auto& b) { return ascends ? a.first < b.first : b.first < a.first; });
    json::array page;
    for (std::size_t i = offset; i < found.size() && page.size() < limit; ++i)
        page.push_back(selected(std::move(found[i].second), body.texts("select")));
    return pageOf(std::move(page), offset, found.size());
}

serve::HandlerAnswer countSchedules(const Call& call) {
    return answerOf(json::value(matchingSchedules(call, call.bodyIfGiven()).size()));
}

}  // namespace

std::span<const Row> scheduleRows() {
    static constexpr Row rows[] = {
        {"POST", "/runs/crons", &createSchedule},         {"POST", "/threads/:id/runs/crons", &createThreadSchedule},
        {"POST", "/runs/crons/search", &searchSchedules}, {"POST", "/runs/crons/count", &countSchedules},
        {"PATCH", "/runs/crons/:id", &patchSchedule},     {"DELETE", "/runs/crons/:id", &deleteSchedule},
    };
    return rows;
}

}  // namespace stategraph::langgraph
