#include "langgraph/webhooks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/async.hpp>
#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "langgraph/identifiers.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/thread_view.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr std::size_t sending_max = 8;
constexpr std::size_t calls_page = 50;  // a call has the values of a thread
/// Beyond it a call has no values: a store has items of 16 MiB.
constexpr std::size_t values_bytes_max = std::size_t{4} << 20U;
constexpr auto first_wait = std::chrono::seconds(5);
constexpr auto longest_wait = std::chrono::minutes(15);

StoreNamespace callsNs() { return {records_label, "webhooks"}; }

StoreOp putOp(const std::string& run_id, const json::object& call, std::optional<Value> expected = {}) {
    return PutOp{
        .ns = callsNs(),
        .key = run_id,
        .value = Value(json::value(call)),
        .options = {
            .ttl = std::chrono::milliseconds(0), .index = std::vector<std::string>(), .expected = std::move(expected)}};
}

std::string textIn(const json::object& of, std::string_view name) {
    const json::value* const found = of.if_contains(name);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

/// The values and the error of a run that has ended, as far as they can be read.
json::object resultOf(const Service& service, const RunRecord& ended, const std::string& result) {
    json::object shown;
    boost::system::error_code unreadable;
    json::value values = result.empty() ? json::value() : json::parse(result, unreadable);
    if (const json::object* const object = values.if_object()) {
        if (const json::value* const error = object->if_contains("__error__")) {
            shown["error"] = textIn(error->is_object() ? error->get_object() : json::object(), "message");
            values = nullptr;
        }
    }
    try {
        if (values.is_null()) {
            if (const auto thread = service.records.thread(ended.thread_id)) values = threadValues(service, *thread);
        }
        if (stategraph::detail::jsonText(values).size() > values_bytes_max) {
            values = nullptr;
            shown["values_left_out"] = true;
        }
    } catch (const std::exception&) {  // the end is reported without them
        shown["values_left_out"] = true;
    }
    shown["values"] = std::move(values);
    return shown;
}

}  // namespace

ApiRecords::Batch Webhooks::callOf(const RunRecord& ended, const std::string& result) const {
    const std::string url = textIn(ended.kwargs, "webhook");
    if (url.empty()) return {};
    json::object body = runJson(ended);
    body["run_started_at"] = ended.begins_at.empty() ? ended.created_at : ended.begins_at;
    body["run_ended_at"] = ended.updated_at;
    body = merged(std::move(body), resultOf(service_, ended, result));
    const json::object call{{"url", url}, {"graph_id", ended.graph_id}, {"tries", 0}, {"body", std::move(body)}};
    return ApiRecords::Batch().add(putOp(ended.run_id, call));
}

void Webhooks::send(const RunRecord& ended) {
    if (!textIn(ended.kwargs, "webhook").empty()) enter(ended.run_id);
}

void Webhooks::sendLeft() {
    if (!service_.options.webhooks) return;
    for (std::size_t offset = 0;; offset += calls_page) {
        const auto page = service_.options.store->search(
            {.namespace_prefix = callsNs(), .limit = calls_page, .offset = offset, .refresh_ttl = false});
        {
            const stategraph::detail::LockGuard lock(mutex_);
            for (const SearchItem& item : page) waiting_.push_back(item.key);
        }
        if (page.size() < calls_page) break;
    }
    beginSome();
}

void Webhooks::enter(std::string run_id) {
    {
        const stategraph::detail::LockGuard lock(mutex_);
        waiting_.push_back(std::move(run_id));
    }
    beginSome();
}

void Webhooks::beginSome() {
    // The next process makes the calls that are left.
    while (service_.options.webhooks && !service_.server.isEnding()) {
        std::string run_id;
        {
            const stategraph::detail::LockGuard lock(mutex_);
            if (waiting_.empty() || sending_ >= sending_max) return;
            run_id = std::move(waiting_.front());
            waiting_.pop_front();
            ++sending_;
        }
        const std::shared_ptr<Service> service = service_.shared_from_this();
        try {
            spawn(service->server.executor(), sendOne(service, run_id),
                  [service, run_id](const Outcome<void>& outcome) {
                      {
                          const stategraph::detail::LockGuard lock(service->webhooks->mutex_);
                          --service->webhooks->sending_;
                      }
                      if (outcome.error()) service->webhooks->enterLater(run_id, longest_wait);  // the store failed
                      service->webhooks->beginSome();
                  });
        } catch (const std::exception&) {  // no thread: another end, or the next process, tries again
            const stategraph::detail::LockGuard lock(mutex_);
            --sending_;
            waiting_.push_front(std::move(run_id));
            return;
        }
    }
}

Task<> Webhooks::sendOne(std::shared_ptr<Service> service, std::string run_id) {
    const auto stored = service->options.store->get(callsNs(), run_id, false);
    if (!stored) co_return;
    json::object call = toJsonValue(stored->value).as_object();
    json::object body = call.at("body").as_object();
    body["webhook_sent_at"] = isoTime(service->clock->now(), 6);
    std::string why;
    try {
        Task<int> sending = service->options.webhooks->send(
            {.url = textIn(call, "url"), .id = run_id, .body = stategraph::detail::jsonText(body)});
        const int status = co_await std::move(sending);
        if (status / 100 != 2) why = "the answer has the status " + std::to_string(status);
    } catch (const std::exception& failed) {
        why = failed.what();
    } catch (...) {
        why = "an unknown exception";
    }
    if (why.empty()) {
        service->options.store->remove(callsNs(), run_id);
    } else if (!service->server.isEnding()) {
        service->webhooks->putOff(*stored, std::move(call), why);
    }
}

void Webhooks::putOff(const StoreItem& stored, json::object call, const std::string& why) {
    const std::string& run_id = stored.key;
    const std::int64_t tries = call.at("tries").as_int64() + 1;
    const std::string thread_id = textIn(call.at("body").as_object(), "thread_id");
    const serve::ErrorText told = service_.errorTexts(textIn(call, "graph_id"), thread_id);
    if (tries >= std::max(1, service_.options.webhook_tries_max)) {
        if (told) (void)told("The webhook of the run " + run_id + " was tried for the last time", why);
        service_.options.store->remove(callsNs(), run_id);
        return;
    }
    if (told) (void)told("The webhook of the run " + run_id + " is tried again later", why);
    call["tries"] = tries;
    try {
        (void)service_.options.store->batch({putOp(run_id, call, stored.value)});
    } catch (const StoreChangedError&) {
        return;  // another process has sent it, or tries it
    }
    const auto wait = std::min<Clock::Time::duration>(
        first_wait * (std::int64_t{1} << std::min<std::int64_t>(tries - 1, 10)), longest_wait);
    enterLater(run_id, wait);
}

void Webhooks::enterLater(const std::string& run_id, Clock::Time::duration wait) {
    service_.clock->callAt(service_.clock->now() + wait, [owner = service_.weak_from_this(), run_id] {
        if (const auto service = owner.lock()) service->webhooks->enter(run_id);
    });
}

}  // namespace stategraph::langgraph
