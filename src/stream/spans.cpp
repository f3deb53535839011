#include <stategraph/spans.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <span>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/interrupt.hpp>

#include "src/threads/fork.hpp"

// Turns the events of observers into spans.
namespace stategraph {
namespace {

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

    /// Exports a span that has ended already.
    void whole(const Key& parent, Span span, std::chrono::nanoseconds duration) {
        span.span_id = randomId<8>();
        span.end = std::chrono::system_clock::now();
        span.start = span.end - std::chrono::duration_cast<std::chrono::system_clock::duration>(duration);
        {
            const detail::LockGuard lock(mutex);
            const auto found = open.find(parent);
            if (found == open.end()) {
                dropped.fetch_add(1);
                return;
            }
            span.trace_id = found->second.trace_id;
            span.parent_span_id = found->second.span_id;
        }
        exporter->take(std::move(span));
    }

    void describe(const Key& key, std::string_view name, std::span<const SpanAttribute> attributes) {
        const detail::LockGuard lock(mutex);
        const auto found = open.find(key);
        if (found == open.end()) return;  // there were too many spans to record this one
        Span& span = found->second;
        if (!name.empty()) span.name = std::string(name);
        for (const SpanAttribute& attribute : attributes) {
            const auto known = std::ranges::find(span.attributes, attribute.first, &SpanAttribute::first);
            if (known != span.attributes.end()) {
                known->second = attribute.second;
            } else {
                span.attributes.push_back(attribute);
            }
        }
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

void SpanObserver::operationEnds(const OperationEnd& end) {
    const Operation& operation = end.operation;
    Span span;
    span.name = std::string(operation.name);
    span.is_remote = operation.is_remote;
    span.attributes.assign(operation.attributes.begin(), operation.attributes.end());
    span.failed = !operation.error.empty();
    span.message = std::string(operation.error);
    impl_->whole(Impl::taskKey(end.run, end.task_id), std::move(span), operation.duration);
}

void SpanObserver::described(const Described& described) {
    const Impl::Key key =
        described.task_id ? Impl::taskKey(described.run, *described.task_id) : Impl::runKey(described.run);
    impl_->describe(key, described.name, described.attributes);
}

bool SpanObserver::wantsContent() const noexcept { return impl_->options.content; }

std::uint64_t SpanObserver::dropped() const noexcept { return impl_->dropped.load(); }

}  // namespace stategraph
