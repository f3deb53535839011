#include <stategraph/detail/otlp.hpp>

#include <array>
#include <ostream>
#include <utility>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>

#include "src/value/bytes.hpp"

// Writes spans in OpenTelemetry's protocol, as JSON.
namespace stategraph {
namespace {

template <std::size_t size>
std::string hex(const std::array<unsigned char, size>& id) {
    std::string text;
    for (const unsigned char byte : id) detail::appendHex(text, byte);
    return text;
}

void encodeAttributeValue(const Value& value, Encoder& out) {
    out.map(1);
    Decoder in(value.bytes());
    switch (in.peek()) {
        case Decoder::Type::unsigned_integer:
        case Decoder::Type::negative_integer:
            out.text("intValue");
            out.text(value.toJson());  // OTLP/JSON has 64-bit integers as texts
            break;
        case Decoder::Type::real:
            out.text("doubleValue");
            out.raw(value.bytes());
            break;
        case Decoder::Type::boolean:
            out.text("boolValue");
            out.raw(value.bytes());
            break;
        case Decoder::Type::text:
            out.text("stringValue");
            out.raw(value.bytes());
            break;
        case Decoder::Type::array: {
            const auto elements = value.as<std::vector<Value>>();
            out.text("arrayValue");
            out.map(1);
            out.text("values");
            out.array(elements.size());
            for (const Value& element : elements) encodeAttributeValue(element, out);
            break;
        }
        default:
            out.text("stringValue");
            out.text(value.toJson());
    }
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
    out.integer(span.is_remote ? 3 : 1);  // the kinds "client" and "internal"
    out.text("startTimeUnixNano");
    out.text(detail::unixNs(span.start));
    out.text("endTimeUnixNano");
    out.text(detail::unixNs(span.end));
    detail::encodeAttributes(span.attributes, out);
    out.text("events");
    out.array(span.events.size());
    for (const Span::Event& event : span.events) {
        out.map(3);
        out.text("timeUnixNano");
        out.text(detail::unixNs(event.time));
        out.text("name");
        out.text(event.name);
        detail::encodeAttributes(event.attributes, out);
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

std::string detail::unixNs(std::chrono::system_clock::time_point time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

void detail::encodeAttributes(std::span<const SpanAttribute> attributes, Encoder& out) {
    out.text("attributes");
    out.array(attributes.size());
    for (const SpanAttribute& attribute : attributes) {
        out.map(2);
        out.text("key");
        out.text(attribute.first);
        out.text("value");
        encodeAttributeValue(attribute.second, out);
    }
}

void detail::encodeScope(std::span<const SpanAttribute> resource, const char* outer, const char* inner, Encoder& out) {
    out.map(2);
    out.text("resource");
    out.map(1);
    encodeAttributes(resource, out);
    out.text(outer);
    out.array(1);
    out.map(2);
    out.text("scope");
    out.map(1);
    out.text("name");
    out.text("stategraph");
    out.text(inner);
}

std::string detail::otlpTraces(std::span<const SpanAttribute> resource, std::span<const Span> spans) {
    std::string cbor;
    Encoder out(cbor);
    out.map(1);
    out.text("resourceSpans");
    out.array(1);
    encodeScope(resource, "scopeSpans", "spans", out);
    out.array(spans.size());
    for (const Span& span : spans) encodeSpan(span, out);
    return cborToJson(cbor);
}

struct OtlpJsonExporter::Impl {
    std::ostream& out SG_GUARDED_BY(mutex);
    std::array<SpanAttribute, 1> resource;
    detail::Mutex mutex;
};

OtlpJsonExporter::OtlpJsonExporter(std::ostream& out, std::string service_name)
    : impl_(new Impl{out, {SpanAttribute("service.name", Value(std::move(service_name)))}, {}}) {}
OtlpJsonExporter::~OtlpJsonExporter() = default;

void OtlpJsonExporter::take(Span&& span) {
    const std::string line = detail::otlpTraces(impl_->resource, std::span(&span, 1)) + "\n";
    const detail::LockGuard lock(impl_->mutex);
    impl_->out.write(line.data(), static_cast<std::streamsize>(line.size()));
    if (!impl_->out) throw SaverError("a span could not be written: the output failed");
}

}  // namespace stategraph
