#include "langgraph/thread_expiry.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <ratio>
#include <string>
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

std::string keyOf(const ThreadRecord& thread) { return thread.expires_at + " " + thread.thread_id; }
StoreOp entry(const ThreadRecord& thread) {
    return PutOp{.ns = expiryNs(),
                 .key = keyOf(thread),
                 .value = Value(json::value(json::object())),
                 .options = {.ttl = std::chrono::milliseconds(0), .index = std::vector<std::string>()}};
}
StoreOp noEntry(const std::string& key) { return PutOp{.ns = expiryNs(), .key = key}; }

/// The time and the thread of an entry.
std::string timeIn(const std::string& key) { return key.substr(0, expiry_bytes); }
std::string threadIn(const std::string& key) { return key.substr(expiry_bytes + 1); }

/// Has a thread looked at next at a time, and stores that, unless a client has set another one meanwhile.
void putOff(Service& service, const std::string& key, Clock::Time at) {
    ThreadRecord later{.thread_id = threadIn(key), .expires_at = isoTime(at, 6)};
    const auto change = [&](ThreadRecord& thread) {
        if (thread.expires_at == timeIn(key)) thread.expires_at = later.expires_at;
    };
    // An entry that is not that of its thread is removed when its time comes.
    if (!service.records.editThread(later.thread_id, change, ApiRecords::Batch().add(noEntry(key)).add(entry(later))))
        service.records.store(ApiRecords::Batch().add(noEntry(key)));
}

/// Ends one thread, or finds out when that is to be done.
void endOne(Service& service, const std::string& key) {
    const std::optional<ThreadRecord> thread = service.records.thread(threadIn(key));
    if (!thread || thread->ttl.count() == 0 || thread->expires_at != timeIn(key)) {
        service.records.store(ApiRecords::Batch().add(noEntry(key)));
        return;
    }
    const Clock::Time now = service.clock->now();
    const auto endOf = [](const ThreadRecord& of) { return timeOf(of.updated_at) + of.ttl; };
    const std::string graph_id = thread->graphId();
    const ServedGraph* const graph = service.graph(graph_id);
    if (endOf(*thread) > now) {
        putOff(service, key, endOf(*thread));
    } else if (graph == nullptr && !graph_id.empty()) {  // another server of the store has it, and so the log
        putOff(service, key, now + busy_wait);
    } else if (thread->keeps_latest) {
        const bool is_busy = service.runs->isBusy(thread->thread_id);
        if (!is_busy && graph != nullptr) (void)graph->saver().prune({.thread_id = thread->thread_id, .keep_last = 1});
        putOff(service, key, now + (is_busy ? busy_wait : std::max<std::chrono::milliseconds>(thread->ttl, busy_wait)));
    } else {
        const auto is_over = [&](const ThreadRecord& stored) {
            return stored.ttl.count() > 0 && !stored.keeps_latest && endOf(stored) <= now;
        };
        if (!tryRemoveThread(service, *thread, is_over)) putOff(service, key, now + busy_wait);
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
        if (const serve::ErrorText told = service.errorTexts({}, threadIn(key)))
            (void)told("A thread whose time is over could not be deleted", why.what());
    }
    putOff(service, key, service.clock->now() + busy_wait);
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
    ApiRecords::Batch times = endTtl(thread);
    return times.add(beginTtl(now, thread));
}

ApiRecords::Batch endTtl(const ThreadRecord& thread) {
    if (thread.expires_at.empty()) return {};
    return ApiRecords::Batch().add(noEntry(keyOf(thread)));
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
    const auto first =
        service.options.store->search({.namespace_prefix = expiryNs(), .limit = expired_page, .refresh_ttl = false});
    for (const SearchItem& item : first) {
        const Clock::Time at = timeOf(timeIn(item.key));
        if (at > service.clock->now()) return at;
        if (service.server.isEnding()) return Clock::Time::max();
        tryOne(service, item.key);
    }
    return first.empty() ? Clock::Time::max() : service.clock->now();
}

}  // namespace stategraph::langgraph
