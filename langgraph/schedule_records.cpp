#include "langgraph/schedule_records.hpp"

#include <chrono>
#include <string_view>

#include <stategraph/json.hpp>

#include "langgraph/identifiers.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr std::size_t schedules_page = 200;
constexpr std::size_t time_bytes = 27;  // 2026-01-31T12:00:00.000000Z

StoreNamespace schedulesNs() { return {records_label, "crons"}; }
StoreNamespace timesNs() { return {records_label, "cron-times"}; }

std::string textOf(Clock::Time time) { return isoTime(time, 6); }
std::string keyOf(Clock::Time at, const std::string& cron_id) { return textOf(at) + " " + cron_id; }

PutOptions keptForEver(std::optional<Value> expected = {}) {
    return {.ttl = std::chrono::milliseconds(0), .index = std::vector<std::string>(), .expected = std::move(expected)};
}

json::value optionalText(const std::string& text) { return text.empty() ? json::value() : json::value(text); }
json::value optionalTime(const std::optional<Clock::Time>& time) {
    return time ? json::value(textOf(*time)) : json::value();
}

json::object objectOf(const ScheduleRecord& record) {
    return {{"assistant_id", record.assistant_id},
            {"thread_id", optionalText(record.thread_id)},
            {"user_id", optionalText(record.user_id)},
            {"created_at", record.created_at},
            {"updated_at", record.updated_at},
            {"schedule", record.schedule},
            {"timezone", optionalText(record.timezone)},
            {"end_time", optionalTime(record.end_time)},
            {"next", optionalTime(record.next)},
            {"enabled", record.is_enabled},
            {"keeps_threads", record.keeps_threads},
            {"payload", record.payload},
            {"metadata", record.metadata}};
}

StoredSchedule scheduleOf(const StoreItem& item) {
    const json::value value = toJsonValue(item.value);
    const json::object& in = value.as_object();
    const auto text = [&](const char* name) {
        const json::value& found = in.at(name);
        return found.is_string() ? std::string(found.get_string()) : std::string();
    };
    const auto time = [&](const char* name) {
        const std::string found = text(name);
        return found.empty() ? std::nullopt : std::optional(timeOf(found));
    };
    return {.record = {.cron_id = item.key,
                       .assistant_id = text("assistant_id"),
                       .thread_id = text("thread_id"),
                       .user_id = text("user_id"),
                       .created_at = text("created_at"),
                       .updated_at = text("updated_at"),
                       .schedule = text("schedule"),
                       .timezone = text("timezone"),
                       .end_time = time("end_time"),
                       .next = time("next"),
                       .is_enabled = in.at("enabled").as_bool(),
                       .keeps_threads = in.at("keeps_threads").as_bool(),
                       .payload = in.at("payload").as_object(),
                       .metadata = in.at("metadata").as_object()},
            .value = item.value};
}

StoreOp putOp(const ScheduleRecord& record, Value expected) {
    return PutOp{.ns = schedulesNs(),
                 .key = record.cron_id,
                 .value = Value(json::value(objectOf(record))),
                 .options = keptForEver(std::move(expected))};
}

/// The time at which it is due; none: it never is.
std::optional<Clock::Time> dueAt(const ScheduleRecord& record) {
    return record.is_enabled ? record.next : std::nullopt;
}

void addTime(const ScheduleRecord& record, ApiRecords::Batch& batch) {
    if (const auto at = dueAt(record))
        batch.add(PutOp{.ns = timesNs(),
                        .key = keyOf(*at, record.cron_id),
                        .value = Value(json::value(json::object())),
                        .options = keptForEver()});
}

void removeTime(const ScheduleRecord& record, ApiRecords::Batch& batch) {
    if (const auto at = dueAt(record)) batch.add(PutOp{.ns = timesNs(), .key = keyOf(*at, record.cron_id)});
}

}  // namespace

std::optional<StoredSchedule> ScheduleRecords::find(const std::string& cron_id) const {
    const auto item = store_->get(schedulesNs(), cron_id, false);
    return item ? std::optional(scheduleOf(*item)) : std::nullopt;
}

void ScheduleRecords::forEach(const std::function<void(ScheduleRecord&&)>& take) const {
    for (std::size_t offset = 0;; offset += schedules_page) {
        const auto page = store_->search(
            {.namespace_prefix = schedulesNs(), .limit = schedules_page, .offset = offset, .refresh_ttl = false});
        for (const SearchItem& item : page) take(scheduleOf(item).record);
        if (page.size() < schedules_page) return;
    }
}

std::vector<ScheduleRecords::Due> ScheduleRecords::first(std::size_t limit) const {
    std::vector<Due> found;
    for (const SearchItem& item :
         store_->search({.namespace_prefix = timesNs(), .limit = limit, .refresh_ttl = false})) {
        const std::string_view key = item.key;
        found.push_back({timeOf(key.substr(0, time_bytes)), std::string(key.substr(time_bytes + 1))});
    }
    return found;
}

ApiRecords::Batch ScheduleRecords::addition(const ScheduleRecord& added) {
    ApiRecords::Batch batch;
    batch.add(putOp(added, Value()));
    addTime(added, batch);
    return batch;
}

ApiRecords::Batch ScheduleRecords::change(const StoredSchedule& before, const ScheduleRecord& after) {
    ApiRecords::Batch batch;
    batch.add(putOp(after, before.value));
    removeTime(before.record, batch);
    addTime(after, batch);  // of two operations on one item the last one counts
    return batch;
}

ApiRecords::Batch ScheduleRecords::removal(const StoredSchedule& removed) {
    ApiRecords::Batch batch;
    batch.add(PutOp{.ns = schedulesNs(), .key = removed.record.cron_id, .options = {.expected = removed.value}});
    removeTime(removed.record, batch);
    return batch;
}

ApiRecords::Batch ScheduleRecords::removal(const Due& due) {
    return ApiRecords::Batch().add(PutOp{.ns = timesNs(), .key = keyOf(due.at, due.cron_id)});
}

}  // namespace stategraph::langgraph
