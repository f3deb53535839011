#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/observer.hpp>
#include <stategraph/value.hpp>

// Reports runs as spans in OpenTelemetry's form, without its library: pass them to its SDK, or to a collector as
// OTLP/JSON.
namespace stategraph {

/// The id of a trace: 16 bytes.
using TraceId = std::array<unsigned char, 16>;
/// The id of a span: 8 bytes.
using SpanId = std::array<unsigned char, 8>;

/// An operation with a beginning and an end, in OpenTelemetry's terms.
struct Span {
    TraceId trace_id = {};
    SpanId span_id = {};
    /// The span around this one; none for the root of the trace.
    std::optional<SpanId> parent_span_id = {};
    /// "run", "superstep N", a task's node, or what a task has called itself, its run or its work.
    std::string name = {};
    std::chrono::system_clock::time_point start = {};
    std::chrono::system_clock::time_point end = {};
    /// "stategraph.thread_id", "stategraph.step", "stategraph.attempt", "stategraph.ending", and what tasks report.
    std::vector<SpanAttribute> attributes = {};
    /// Whether another program has done it: OpenTelemetry's kind "client", and otherwise "internal".
    bool is_remote = false;
    /// An event at one moment: "checkpoint", "interrupt", "retry".
    struct Event {
        std::string name;
        std::chrono::system_clock::time_point time = {};
        std::vector<SpanAttribute> attributes;
    };
    std::vector<Event> events = {};
    bool failed = false;
    /// The text of the error.
    std::string message = {};
};

/// Receives spans. It is called on the threads of runs, several at the same time, and must be quick. Its observer
/// counts exceptions.
class SpanExporter {
public:
    virtual ~SpanExporter();
    virtual void take(Span&& span) = 0;
};

/// A span that runs are inside, such as a request's.
struct SpanParent {
    TraceId trace_id;
    SpanId span_id;
};

/// The options of a SpanObserver.
struct SpanObserverOptions {
    /// The span around all runs. None: each root run is a trace of its own.
    std::optional<SpanParent> parent = {};
    /// How many spans may be open at once; more are counted and not recorded. At least 1.
    std::size_t open_max = 65536;
    /// How many events one span may have; more are counted and not recorded. At least 1.
    std::size_t events_max = 128;
    /// Whether spans have what prompts, answers, arguments and results of tools say. They may be secret, and long.
    bool content = false;
};

/// An observer that creates spans: one for each run, below it one for each superstep, below that one for each attempt
/// at a task, below that what runs inside the task and what the task reports (reportOperation). A span is exported when
/// it ends. Safe from any thread; one may serve any number of runs.
class SpanObserver final : public Observer {
public:
    /// Sends spans to `exporter`. Errors: InvalidArgumentError for a limit of 0.
    explicit SpanObserver(std::shared_ptr<SpanExporter> exporter, const SpanObserverOptions& options = {});
    ~SpanObserver() override;

    void runStarts(const RunStart& start) override;
    void runEnds(const RunEnd& end) override;
    void superstepStarts(const SuperstepStart& start) override;
    void superstepEnds(const SuperstepEnd& end) override;
    void taskStarts(const TaskStart& start) override;
    void taskEnds(const TaskEnd& end) override;
    void taskRetries(const TaskRetry& retry) override;
    void checkpointStored(const CheckpointStored& stored) override;
    void interruptRaised(const InterruptRaised& raised) override;
    void operationEnds(const OperationEnd& end) override;
    void described(const Described& described) override;
    bool wantsContent() const noexcept override;

    /// Spans and events that were not recorded because a limit was reached.
    std::uint64_t dropped() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Writes each span as a line of OTLP/JSON, as OpenTelemetry's collector reads it from files (its otlpjsonfile
/// receiver). Safe from any thread.
class OtlpJsonExporter final : public SpanExporter {
public:
    /// The stream must outlive it. `service_name` is the resource's "service.name".
    explicit OtlpJsonExporter(std::ostream& out, std::string service_name = "stategraph");
    ~OtlpJsonExporter() override;
    /// Writes the span as a line of JSON. Errors: SaverError if the stream fails.
    void take(Span&& span) override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
