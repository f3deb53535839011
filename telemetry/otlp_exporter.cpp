#include <stategraph/telemetry/otlp_exporter.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <new>
#include <stop_token>
#include <thread>
#include <utility>

#include <unistd.h>
#include <boost/json.hpp>

#include <stategraph/async.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/detail/otlp.hpp>
#include <stategraph/error.hpp>

#include "model/http/exchange.hpp"
#include "model/http/http_client.hpp"
#include "model/http/json_access.hpp"
#include "telemetry/model_metrics.hpp"

namespace stategraph::telemetry {

namespace {

namespace http = model::http;
using Clock = std::chrono::steady_clock;

/// How long a thread that is to end is awaited.
constexpr std::chrono::seconds end_limit(5);

std::size_t bytesOf(const std::vector<SpanAttribute>& attributes) noexcept {
    std::size_t bytes = 0;
    for (const auto& [name, value] : attributes) bytes += sizeof(SpanAttribute) + name.size() + value.bytes().size();
    return bytes;
}

std::size_t bytesOf(const Span& span) noexcept {
    std::size_t bytes = sizeof(Span) + span.name.size() + span.message.size() + bytesOf(span.attributes);
    for (const Span::Event& event : span.events) bytes += sizeof(event) + event.name.size() + bytesOf(event.attributes);
    return bytes;
}

/// Returns how many spans the collector has refused, of a request that it has otherwise taken.
std::uint64_t rejectedIn(std::string_view answer) {
    const auto parsed = http::parseJsonText(answer);
    const auto* const object = parsed ? parsed->if_object() : nullptr;
    const auto* const partial = object != nullptr ? http::objectOf(*object, "partialSuccess") : nullptr;
    if (partial == nullptr) return 0;
    if (const auto number = http::integerOf(*partial, "rejectedSpans")) return static_cast<std::uint64_t>(*number);
    std::uint64_t rejected = 0;  // JSON has 64-bit integers as texts
    for (const char digit : http::textOf(*partial, "rejectedSpans").substr(0, 18)) {
        if (digit < '0' || digit > '9') return 0;
        rejected = rejected * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return rejected;
}

bool isTemporary(int status) noexcept { return status == 429 || status == 502 || status == 503 || status == 504; }

std::shared_ptr<const http::HttpClient> clientOf(const OtlpOptions& options, const char* path) {
    const auto made =
        http::makeClient(options.endpoint, path, options.http, {{"Content-Type", "application/json"}}, {});
    auto client = std::make_shared<http::HttpClient>(*made);
    client->speaker.called = "the collector";
    client->is_temporary = isTemporary;
    return client;
}

/// What the exporter and its thread share; the last of them destroys it. At the end of the process, requests that are
/// under way may not end any more, because what they need is gone. If the thread has not ended after a further 5 s, it
/// is detached.
struct Sending {
    using Mutex = stategraph::detail::Mutex;

    explicit Sending(const OtlpOptions& given)
        : options(given), traces(clientOf(given, "/v1/traces")), metrics_client(clientOf(given, "/v1/metrics")) {
        resource.emplace_back("service.name", Value(given.service_name));
        resource.insert(resource.end(), given.resource.begin(), given.resource.end());
    }
    Sending(const Sending&) = delete;
    Sending& operator=(const Sending&) = delete;

    bool flush(std::chrono::milliseconds limit) {
        stategraph::detail::UniqueLock lock(mutex);
        const std::uint64_t wanted = wanted_spans = taken_spans;
        const std::uint64_t wanted_report = ++wanted_reports;
        wakes.notify_all();
        return flushed.wait_for(lock.native(), limit, [&]() SG_REQUIRES(mutex) {
            return handled_spans >= wanted && reports >= wanted_report;
        });
    }

    /// Sends what is left, as far as there is time, and has the thread end. Returns whether it has.
    bool end() noexcept {
        flush(options.flush_limit);
        {
            const stategraph::detail::LockGuard lock(mutex);
            is_ending = true;
            counts.dropped += queue.size();
            queue.clear();
        }
        stop.request_stop();
        wakes.notify_all();
        stategraph::detail::UniqueLock lock(mutex);
        return flushed.wait_for(lock.native(), end_limit, [&]() SG_REQUIRES(mutex) { return has_ended; });
    }

    void take(Span&& span) {
        const std::size_t size = bytesOf(span);
        const stategraph::detail::LockGuard lock(mutex);
        if (options.metrics_interval) metrics.take(span);
        if (queue.size() >= options.spans_max || size > options.bytes_max - bytes) {
            ++counts.dropped;
            return;
        }
        bytes += size;
        ++taken_spans;
        queue.push_back(std::move(span));
        if (queue.size() >= options.batch_max) wakes.notify_all();
    }

    OtlpCounts counted() const {
        const stategraph::detail::LockGuard lock(mutex);
        return counts;
    }

    /// The thread's work.
    void run() {
        work();
        const stategraph::detail::LockGuard lock(mutex);
        has_ended = true;
        flushed.notify_all();
    }

private:
    void work() {
        Clock::time_point metrics_due = Clock::now() + options.metrics_interval.value_or(std::chrono::hours(0));
        for (;;) {
            std::vector<Span> batch;
            std::string metrics_request;
            std::uint64_t report = 0;
            {
                stategraph::detail::UniqueLock lock(mutex);
                const Clock::time_point due = std::min(metrics_due, Clock::now() + options.interval);
                wakes.wait_until(lock.native(), options.metrics_interval ? due : Clock::now() + options.interval,
                                 [&]() SG_REQUIRES(mutex) {
                                     return is_ending || wanted_spans > handled_spans || wanted_reports > reports ||
                                            queue.size() >= options.batch_max;
                                 });
                if (is_ending) return;
                const std::size_t size = std::min(queue.size(), options.batch_max);
                for (std::size_t i = 0; i < size; ++i) {
                    bytes -= bytesOf(queue.front());
                    batch.push_back(std::move(queue.front()));
                    queue.pop_front();
                }
                report = wanted_reports;
                const bool is_due = report > reports || Clock::now() >= metrics_due;
                if (options.metrics_interval && is_due) {
                    metrics_due = Clock::now() + *options.metrics_interval;
                    if (!metrics.isEmpty()) metrics_request = metrics.request(resource);
                }
            }
            if (!batch.empty()) sendSpans(batch);
            if (!metrics_request.empty()) send(metrics_client, std::move(metrics_request));
            const stategraph::detail::LockGuard lock(mutex);
            handled_spans += batch.size();
            reports = report;
            flushed.notify_all();
        }
    }

    void sendSpans(const std::vector<Span>& batch) noexcept {
        std::uint64_t refused = batch.size();
        try {
            const auto answer = send(traces, stategraph::detail::otlpTraces(resource, batch));
            if (answer) refused = std::min<std::uint64_t>(rejectedIn(*answer), batch.size());
        } catch (const std::exception& error) {  // a span that cannot be written
            const stategraph::detail::LockGuard lock(mutex);
            counts.last_error = error.what();
        }
        const stategraph::detail::LockGuard lock(mutex);
        counts.sent += batch.size() - refused;
        counts.dropped += refused;
    }

    /// Returns the answer, or none if it failed for good.
    std::optional<std::string> send(const std::shared_ptr<const http::HttpClient>& client, std::string body) noexcept {
        std::string why;
        try {
            const model::Asking asking{.stop = stop.get_token()};
            return syncWait(http::exchange(client, std::move(body), asking));
        } catch (const std::exception& error) {
            why = error.what();
        }
        const stategraph::detail::LockGuard lock(mutex);
        ++counts.failed_requests;
        counts.last_error = std::move(why);
        return {};
    }

    const OtlpOptions options;
    const std::shared_ptr<const http::HttpClient> traces;
    const std::shared_ptr<const http::HttpClient> metrics_client;
    std::vector<SpanAttribute> resource;
    std::stop_source stop;

    mutable Mutex mutex;
    std::condition_variable wakes;
    std::condition_variable flushed;
    std::deque<Span> queue SG_GUARDED_BY(mutex);
    std::size_t bytes SG_GUARDED_BY(mutex) = 0;
    ModelMetrics metrics SG_GUARDED_BY(mutex);
    OtlpCounts counts SG_GUARDED_BY(mutex);
    // How many spans were taken, those up to which somebody waits, and those that were sent or given up; and reports of
    // metrics that somebody waits for.
    std::uint64_t taken_spans SG_GUARDED_BY(mutex) = 0;
    std::uint64_t wanted_spans SG_GUARDED_BY(mutex) = 0;
    std::uint64_t handled_spans SG_GUARDED_BY(mutex) = 0;
    std::uint64_t wanted_reports SG_GUARDED_BY(mutex) = 0;
    std::uint64_t reports SG_GUARDED_BY(mutex) = 0;
    bool is_ending SG_GUARDED_BY(mutex) = false;
    bool has_ended SG_GUARDED_BY(mutex) = false;
};

/// Forgets a thread of the parent, which a forked child does not have.
void forget(std::thread& thread) noexcept {
    alignas(std::thread) std::byte never_destroyed[sizeof(std::thread)];
    ::new (static_cast<void*>(never_destroyed)) std::thread(std::move(thread));
}

}  // namespace

struct OtlpExporter::Impl {
    explicit Impl(const OtlpOptions& options)
        : sending(std::make_shared<Sending>(options)), thread([shared = sending] { shared->run(); }) {}

    /// Whether this is the process that has the thread.
    bool isOwn() const noexcept { return ::getpid() == process; }

    const ::pid_t process = ::getpid();
    std::shared_ptr<Sending> sending;
    std::thread thread;
};

OtlpExporter::OtlpExporter(const OtlpOptions& options) {
    using std::chrono::milliseconds;
    if (options.spans_max < 1 || options.bytes_max < 1 || options.batch_max < 1)
        throw InvalidArgumentError("OtlpOptions::spans_max, bytes_max and batch_max must be at least 1");
    const auto isTime = [](milliseconds time) { return time >= milliseconds(1) && time <= std::chrono::hours(24); };
    if (!isTime(options.interval) || (options.metrics_interval && !isTime(*options.metrics_interval)) ||
        options.flush_limit < milliseconds(0) || options.flush_limit > std::chrono::hours(24)) {
        throw InvalidArgumentError(
            "OtlpOptions::interval and metrics_interval must be from 1 ms to a day, flush_limit from 0 to a day");
    }
    impl_ = std::make_unique<Impl>(options);
}

OtlpExporter::~OtlpExporter() {
    if (!impl_->isOwn()) {
        // Another thread of the parent may have held the lock when the child was forked: what is shared stays, because
        // the parent's thread holds it.
        forget(impl_->thread);
    } else if (impl_->sending->end()) {
        impl_->thread.join();
    } else {
        impl_->thread.detach();
    }
}

void OtlpExporter::take(Span&& span) {
    if (impl_->isOwn()) impl_->sending->take(std::move(span));
}

bool OtlpExporter::flush(std::chrono::milliseconds limit) { return impl_->isOwn() && impl_->sending->flush(limit); }

OtlpCounts OtlpExporter::counts() const { return impl_->isOwn() ? impl_->sending->counted() : OtlpCounts(); }

}  // namespace stategraph::telemetry
