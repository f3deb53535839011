#pragma once
#include <chrono>
#include <span>
#include <string>

#include <stategraph/encoding.hpp>
#include <stategraph/spans.hpp>

// OpenTelemetry's protocol as JSON, which is written as CBOR first.
namespace stategraph::detail {

/// Times are texts of nanoseconds.
std::string unixNs(std::chrono::system_clock::time_point time);

/// Writes the member "attributes".
void encodeAttributes(std::span<const SpanAttribute> attributes, Encoder& out);

/// Writes a map with the resource and the scope, and the name of its list `inner`; the caller writes the list. `outer`
/// is "scopeSpans" or "scopeMetrics".
void encodeScope(std::span<const SpanAttribute> resource, const char* outer, const char* inner, Encoder& out);

/// Returns the request of OTLP/HTTP for these spans (ExportTraceServiceRequest) as JSON.
std::string otlpTraces(std::span<const SpanAttribute> resource, std::span<const Span> spans);

}  // namespace stategraph::detail
