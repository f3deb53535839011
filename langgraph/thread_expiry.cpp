#include "langgraph/thread_expiry.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/live_runs.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr std::size_t expired_page = 100;
constexpr std::size_t expiry_bytes = 27;  // 2026-01-31T12:00:00.000000Z
constexpr double minutes_max = 100.0 * 366 * 24 * 60;
/// A thread with a run, or whose log cannot be written now, is looked at again after this time.
constexpr auto busy_wait = std::chrono::minutes(1);

StoreNamespace expiryNs() { return {records_label, "thread-times"}; }

StoreOp entry(const ThreadRecord& thread) {
    return PutOp{.ns = expiryNs(),
                 .key = thread.expires_at + " " + thread.thread_id,
                 .value = Value(json::value(json::object())),
                 .options = {.ttl = std::chrono::milliseconds(0), .index = std::vector<std::string>()}};
}
StoreOp noEntry(const std::string& key) { return PutOp{.ns = expiryNs(), .key = key}; }

/// Has it looked at next at a time, and stores that.
void putOff(Service& service, const std::string& thread_id, const std::string& key, Clock::Time at) {
    ThreadRecord later{.thread_id = thread_id, .expires_at = isoTime(at, 6)};
    const auto change = [&](ThreadRecord& thread) { thread.expires_at = later.expires_at; };
    if (!service.records.editThread(thread_id, change, ApiRecords::Batch().add(noEntry(key)).add(entry(later))))
        service.records.store(ApiRecords::Batch().add(noEntry(key)));
}

/// Ends one thread, or finds out when that is to be done.
void endOne(Service& service, const std::string& key) {
    const std::string thread_id = key.substr(expiry_bytes + 1);
    const std::optional<ThreadRecord> thread = service.records.thread(thread_id);
    if (!thread || thread->ttl.count() == 0 || thread->expires_at != key.substr(0, expiry_bytes)) {
        service.records.store(ApiRecords::Batch().add(noEntry(key)));
        return;
    }
    const Clock::Time now = service.clock->now();
    const Clock::Time end = timeOf(thread->updated_at) + thread->ttl;
    if (end > now) {
        putOff(service, thread_id, key, end);
    } else if (service.runs->isBusy(thread_id)) {
        putOff(service, thread_id, key, now + busy_wait);
    } else if (thread->keeps_latest) {
        if (const ServedGraph* const graph = service.graph(thread->graphId()))
            (void)graph->saver().prune({.thread_id = thread_id, .keep_last = 1});
        putOff(service, thread_id, key, now + thread->ttl);
    } else {
        removeThread(service, *thread);
        service.records.store(ApiRecords::Batch().add(noEntry(key)));
    }
}

/// The same; a thread that cannot be ended now does not keep the others.
void tryOne(Service& service, const std::string& key) {
    try {
        endOne(service, key);
        return;
    } catch (const StoreError&) {
        throw;
    } catch (const std::exception& why) {
        if (const serve::ErrorText told = service.errorTexts({}, key.substr(expiry_bytes + 1)))
            (void)told("A thread whose time is over could not be deleted", why.what());
    }
    putOff(service, key.substr(expiry_bytes + 1), key, service.clock->now() + busy_wait);
}

}  // namespace

ApiRecords::Batch readTtl(const Body& body, Clock::Time now, ThreadRecord& thread) {
    const json::value* const given = body.find("ttl");
    if (given == nullptr) return {};
    json::value minutes = *given;
    thread.keeps_latest = false;
    if (given->is_object()) {
        const Body options(given->get_object(), "ttl.");
        const json::value* const inner = options.find("ttl");
        minutes = inner != nullptr ? *inner : json::value();
        thread.keeps_latest = options.choice("strategy", {"delete", "keep_latest"}) == "keep_latest";
    }
    boost::system::error_code no_number;
    const double count = minutes.to_number<double>(no_number);
    if (no_number || !(count > 0 && count <= minutes_max))
        body.refuse("ttl", "must be a number of minutes, or {\"ttl\": minutes, \"strategy\": text}");
    thread.ttl =
        std::max(std::chrono::milliseconds(1),
                 std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double, std::ratio<60>>(count)));
    return beginTtl(now, thread);
}

ApiRecords::Batch beginTtl(Clock::Time now, ThreadRecord& thread) {
    if (thread.ttl.count() == 0) return {};
    thread.expires_at = isoTime(now + thread.ttl, 6);
    return ApiRecords::Batch().add(entry(thread));
}

json::value ttlJson(const ThreadRecord& thread) {
    if (thread.ttl.count() == 0) return nullptr;
    const double minutes = std::chrono::duration<double, std::ratio<60>>(thread.ttl).count();
    return {{"strategy", thread.keeps_latest ? "keep_latest" : "delete"},
            {"ttl_minutes", minutes},
            {"expires_at", isoTime(timeOf(thread.updated_at) + thread.ttl, 6)}};
}

Clock::Time endExpired(Service& service) {
    for (;;) {
        const auto first = service.options.store->search(
            {.namespace_prefix = expiryNs(), .limit = expired_page, .refresh_ttl = false});
        for (const SearchItem& item : first) {
            const std::string key = item.key;
            const Clock::Time at = timeOf(std::string_view(key).substr(0, expiry_bytes));
            if (at > service.clock->now()) return at;
            if (service.server.isEnding()) return Clock::Time::max();
            tryOne(service, key);
        }
        if (first.empty()) return Clock::Time::max();
    }
}

}  // namespace stategraph::langgraph
