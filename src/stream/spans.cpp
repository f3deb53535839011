#include <stategraph/spans.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <ostream>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/interrupt.hpp>

#include "src/threads/fork.hpp"
#include "src/value/bytes.hpp"

// Turns the events of observers into spans.
namespace stategraph {
namespace {

std::string unixNs(std::chrono::system_clock::time_point time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

// Returns a random id. All bytes zero would be an invalid id, so it never returns that.
template <std::size_t size>
std::array<unsigned char, size> randomId() {
    std::array<unsigned char, size> id{};
    for (std::size_t i = 0; i < size; i += 8) {
        const std::uint64_t bits = engine::randomBits() | 1U;
        for (std::size_t j = 0; j < 8; ++j) id[i + j] = static_cast<unsigned char>(bits >> (8 * j));
    }
    return id;
}

template <std::size_t size>
std::string hex(const std::array<unsigned char, size>& id) {
    std::string text;
    for (const unsigned char byte : id) detail::appendHex(text, byte);
    return text;
}

}  // namespace

SpanExporter::~SpanExporter() = default;

struct SpanObserver::Impl {
    enum class Kind : std::uint8_t { run, superstep, task };
    struct Key {
        std::uint64_t run;
        Kind kind;
        TaskId task = {};
        auto operator<=>(const Key&) const = default;
    };
    std::shared_ptr<SpanExporter> exporter;
    SpanObserverOptions options;
    detail::Mutex mutex;
    std::map<Key, Span> open SG_GUARDED_BY(mutex);
    std::atomic<std::uint64_t> dropped = 0;

    void begin(const Key& key, const std::optional<Key>& parent, Span span) {
        span.span_id = randomId<8>();
        span.start = std::chrono::system_clock::now();
        const detail::LockGuard lock(mutex);
        if (open.size() >= options.open_max) {
            dropped.fetch_add(1);
            return;
        }
        const auto found = parent ? open.find(*parent) : open.end();
        if (found != open.end()) {
            span.trace_id = found->second.trace_id;
            span.parent_span_id = found->second.span_id;
        } else if (options.parent) {
            span.trace_id = options.parent->trace_id;
            span.parent_span_id = options.parent->span_id;
        } else {
            span.trace_id = randomId<16>();
        }
        open.insert_or_assign(key, std::move(span));
    }

    void end(const Key& key, Status ending, std::chrono::nanoseconds duration, std::string_view error,
             std::vector<std::pair<std::string, Value>> attributes = {}) {
        Span span;
        {
            const detail::LockGuard lock(mutex);
            const auto found = open.find(key);
            if (found == open.end()) return;  // there were too many spans to record this one
            span = std::move(found->second);
            open.erase(found);
        }
        // The duration is used because it comes from a clock that never jumps.
        span.end = span.start + std::chrono::duration_cast<std::chrono::system_clock::duration>(duration);
        span.attributes.emplace_back("stategraph.ending", Value(toString(ending)));
        for (auto& attribute : attributes) span.attributes.push_back(std::move(attribute));
        span.failed = ending == Status::failed || ending == Status::retried;
        span.message = std::string(error);
        exporter->take(std::move(span));
    }

    void event(const Key& key, const Key& otherwise, Span::Event event) {
        event.time = std::chrono::system_clock::now();
        const detail::LockGuard lock(mutex);
        auto found = open.find(key);
        if (found == open.end()) found = open.find(otherwise);
        if (found == open.end() || found->second.events.size() >= options.events_max) {
            dropped.fetch_add(1);
            return;
        }
        found->second.events.push_back(std::move(event));
    }

    static Key runKey(const ObservedRun& run) { return {run.run_id, Kind::run}; }
    static Key superstepKey(const ObservedRun& run) { return {run.run_id, Kind::superstep}; }
    static Key taskKey(const ObservedRun& run, TaskId task) { return {run.run_id, Kind::task, task}; }
};

SpanObserver::SpanObserver(std::shared_ptr<SpanExporter> exporter, const SpanObserverOptions& options)
    : impl_(std::make_unique<Impl>()) {
    if (options.open_max < 1 || options.events_max < 1) {
        throw InvalidArgumentError("SpanObserverOptions::open_max and events_max must be at least 1");
    }
    impl_->exporter = std::move(exporter);
    impl_->options = options;
}
SpanObserver::~SpanObserver() = default;

void SpanObserver::runStarts(const RunStart& start) {
    std::optional<Impl::Key> parent;
    if (start.run.parent_run_id != 0)
        parent = Impl::Key{start.run.parent_run_id, Impl::Kind::task, start.run.parent_task_id};
    Span span;
    span.name = "run";
    span.attributes.emplace_back("stategraph.thread_id", Value(start.run.thread_id));
    span.attributes.emplace_back("stategraph.checkpoint_ns", Value(start.run.checkpoint_ns));
    impl_->begin(Impl::runKey(start.run), parent, std::move(span));
}

void SpanObserver::runEnds(const RunEnd& end) {
    impl_->end(Impl::runKey(end.run), end.ending, end.duration, end.error,
               {{"stategraph.supersteps", Value(end.supersteps)}});
}

void SpanObserver::superstepStarts(const SuperstepStart& start) {
    Span span;
    span.name = "superstep " + std::to_string(start.step);
    span.attributes.emplace_back("stategraph.step", Value(start.step));
    span.attributes.emplace_back("stategraph.tasks", Value(static_cast<std::int64_t>(start.tasks)));
    impl_->begin(Impl::superstepKey(start.run), Impl::runKey(start.run), std::move(span));
}

void SpanObserver::superstepEnds(const SuperstepEnd& end) {
    impl_->end(Impl::superstepKey(end.run), end.ending, end.duration, {});
}

void SpanObserver::taskStarts(const TaskStart& start) {
    Span span;
    span.name = std::string(start.node);
    span.attributes.emplace_back("stategraph.step", Value(start.step));
    span.attributes.emplace_back("stategraph.task_id", Value(start.task_id.toString()));
    span.attributes.emplace_back("stategraph.attempt", Value(start.attempt));
    impl_->begin(Impl::taskKey(start.run, start.task_id), Impl::superstepKey(start.run), std::move(span));
}

void SpanObserver::taskEnds(const TaskEnd& end) {
    impl_->end(Impl::taskKey(end.run, end.task_id), end.ending, end.duration, end.error);
}

void SpanObserver::taskRetries(const TaskRetry& retry) {
    impl_->event(Impl::superstepKey(retry.run), Impl::runKey(retry.run),
                 {.name = "retry",
                  .time = {},
                  .attributes = {{"stategraph.node", Value(retry.node)},
                                 {"stategraph.attempt", Value(retry.attempt)},
                                 {"stategraph.wait_ms", Value(retry.wait.count())}}});
}

void SpanObserver::checkpointStored(const CheckpointStored& stored) {
    impl_->event(
        Impl::superstepKey(stored.run), Impl::runKey(stored.run),
        {.name = "checkpoint",
         .time = {},
         .attributes = {{"stategraph.checkpoint_id", Value(stored.id.toString())},
                        {"stategraph.step", Value(stored.step)},
                        {"stategraph.bytes", Value(static_cast<std::int64_t>(stored.bytes))},
                        {"stategraph.duration_ns", Value(static_cast<std::int64_t>(stored.duration.count()))}}});
}

void SpanObserver::interruptRaised(const InterruptRaised& raised) {
    impl_->event(Impl::taskKey(raised.run, raised.interrupt.id), Impl::superstepKey(raised.run),
                 {.name = "interrupt",
                  .time = {},
                  .attributes = {{"stategraph.node", Value(raised.node)},
                                 {"stategraph.interrupt_id", Value(raised.interrupt.id.toString())}}});
}

std::uint64_t SpanObserver::dropped() const noexcept { return impl_->dropped.load(); }

struct OtlpJsonExporter::Impl {
    std::ostream& out SG_GUARDED_BY(mutex);
    std::string service;
    detail::Mutex mutex;
};

namespace {

void encodeAttribute(const std::pair<std::string, Value>& attribute, Encoder& out) {
    out.map(2);
    out.text("key");
    out.text(attribute.first);
    out.text("value");
    out.map(1);
    Decoder in(attribute.second.bytes());
    switch (in.peek()) {
        case Decoder::Type::unsigned_integer:
        case Decoder::Type::negative_integer:
            out.text("intValue");
            out.text(attribute.second.toJson());  // OTLP/JSON has 64-bit integers as texts
            break;
        case Decoder::Type::real:
            out.text("doubleValue");
            out.raw(attribute.second.bytes());
            break;
        case Decoder::Type::boolean:
            out.text("boolValue");
            out.raw(attribute.second.bytes());
            break;
        case Decoder::Type::text:
            out.text("stringValue");
            out.raw(attribute.second.bytes());
            break;
        default:
            out.text("stringValue");
            out.text(attribute.second.toJson());
    }
}

void encodeAttributes(const std::vector<std::pair<std::string, Value>>& attributes, Encoder& out) {
    out.text("attributes");
    out.array(attributes.size());
    for (const auto& attribute : attributes) encodeAttribute(attribute, out);
}

void encodeSpan(const Span& span, Encoder& out) {
    out.map(span.parent_span_id ? 10 : 9);
    out.text("traceId");
    out.text(hex(span.trace_id));
    out.text("spanId");
    out.text(hex(span.span_id));
    if (span.parent_span_id) {
        out.text("parentSpanId");
        out.text(hex(*span.parent_span_id));
    }
    out.text("name");
    out.text(span.name);
    out.text("kind");
    out.integer(1);  // the kind "internal"
    out.text("startTimeUnixNano");
    out.text(unixNs(span.start));
    out.text("endTimeUnixNano");
    out.text(unixNs(span.end));
    encodeAttributes(span.attributes, out);
    out.text("events");
    out.array(span.events.size());
    for (const Span::Event& event : span.events) {
        out.map(3);
        out.text("timeUnixNano");
        out.text(unixNs(event.time));
        out.text("name");
        out.text(event.name);
        encodeAttributes(event.attributes, out);
    }
    out.text("status");
    if (!span.failed) {
        out.map(0);
        return;
    }
    out.map(2);
    out.text("code");
    out.integer(2);  // the status "error"
    out.text("message");
    out.text(span.message);
}

}  // namespace

OtlpJsonExporter::OtlpJsonExporter(std::ostream& out, std::string service_name)
    : impl_(new Impl{out, std::move(service_name), {}}) {}
OtlpJsonExporter::~OtlpJsonExporter() = default;

void OtlpJsonExporter::take(Span&& span) {
    std::string cbor;
    Encoder out(cbor);
    out.map(1);
    out.text("resourceSpans");
    out.array(1);
    out.map(2);
    out.text("resource");
    out.map(1);
    encodeAttributes({{"service.name", Value(impl_->service)}}, out);
    out.text("scopeSpans");
    out.array(1);
    out.map(2);
    out.text("scope");
    out.map(1);
    out.text("name");
    out.text("stategraph");
    out.text("spans");
    out.array(1);
    encodeSpan(span, out);
    const std::string line = cborToJson(cbor) + "\n";
    const detail::LockGuard lock(impl_->mutex);
    impl_->out.write(line.data(), static_cast<std::streamsize>(line.size()));
    if (!impl_->out) throw SaverError("a span could not be written: the output failed");
}

}  // namespace stategraph
