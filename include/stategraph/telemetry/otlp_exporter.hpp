#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/model/http_options.hpp>
#include <stategraph/spans.hpp>

// Sends spans, and metrics of models, to a collector of OpenTelemetry, such as Jaeger, Tempo or Langfuse.
namespace stategraph::telemetry {

/// The options of an OtlpExporter.
struct OtlpOptions {
    /// The collector, http or https. "/v1/traces" and "/v1/metrics" are appended.
    std::string endpoint = "http://localhost:4318";
    /// The resource's "service.name".
    std::string service_name = "stategraph";
    /// Further attributes of the resource, such as "deployment.environment.name".
    std::vector<SpanAttribute> resource = {};
    /// The most spans that wait to be sent. Spans beyond are dropped and counted.
    std::size_t spans_max = 8192;
    /// The most bytes of such spans; likewise.
    std::size_t bytes_max = std::size_t{32} << 20U;
    /// The most spans of one request.
    std::size_t batch_max = 512;
    /// How long a span waits at most before it is sent.
    std::chrono::milliseconds interval = std::chrono::seconds(2);
    /// How often metrics are sent; none: never.
    std::optional<std::chrono::milliseconds> metrics_interval = std::chrono::seconds(30);
    /// How long the destructor waits for what is not sent yet.
    std::chrono::milliseconds flush_limit = std::chrono::seconds(5);
    /// Headers (for Langfuse "Authorization"), certificates, and the limits of a request. A request that is refused
    /// with 429, 502, 503 or 504, or that does not reach the collector, is sent again, after the time of a Retry-After.
    model::HttpOptions http = {
        .idle_limit = std::chrono::seconds(10), .total_limit = std::chrono::seconds(60), .max_retries = 5};
};

/// What an OtlpExporter has done.
struct OtlpCounts {
    std::uint64_t sent = 0;
    /// Spans for which there was no room, which the collector has refused, or which could not be sent in time.
    std::uint64_t dropped = 0;
    /// Requests that failed for good.
    std::uint64_t failed_requests = 0;
    /// The text of the last such failure.
    std::string last_error = {};
};

/// Sends spans as OTLP/HTTP with JSON, in batches, on a thread of its own: `take` never waits for the network. From
/// spans of models ("gen_ai.operation.name" of remote operations) it makes the histograms `gen_ai.client.token.usage`
/// and `gen_ai.client.operation.duration`, with up to 1,000 sets of attributes. Safe from any thread. Give it to a
/// SpanObserver. In a child that the process forks it does nothing, and `flush` returns false. A child can have an
/// exporter of its own only if the parent made no HTTP request before the fork, or if the child calls exec.
class OtlpExporter final : public SpanExporter {
public:
    /// Errors: InvalidArgumentError for options that make no sense.
    explicit OtlpExporter(const OtlpOptions& options = {});
    /// Sends what is left, for OtlpOptions::flush_limit at most, and drops the rest. It may be called after `main`. If
    /// the thread has not ended after a further 5 s, it is detached.
    ~OtlpExporter() override;

    void take(Span&& span) override;
    /// Sends what was taken before, and the metrics. Returns whether all of it was tried before the time was over.
    bool flush(std::chrono::milliseconds limit);
    OtlpCounts counts() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph::telemetry
