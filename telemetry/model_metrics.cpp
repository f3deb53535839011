#include "telemetry/model_metrics.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/detail/otlp.hpp>
#include <stategraph/error.hpp>

namespace stategraph::telemetry {

namespace {

constexpr std::size_t series_max = 1000;
// The buckets that the conventions name.
constexpr std::array<double, 14> token_bounds{1,     4,     16,     64,      256,     1024,     4096,
                                              16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864};
constexpr std::array<double, 14> second_bounds{0.01, 0.02, 0.04, 0.08,  0.16,  0.32,  0.64,
                                               1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92};
// What tells series apart.
constexpr std::array<std::string_view, 7> dimensions{"gen_ai.operation.name",
                                                     "gen_ai.provider.name",
                                                     "gen_ai.request.model",
                                                     "gen_ai.response.model",
                                                     "server.address",
                                                     "server.port",
                                                     "error.type"};

const Value* find(const Span& span, std::string_view name) {
    const auto found = std::ranges::find(span.attributes, name, &SpanAttribute::first);
    return found != span.attributes.end() ? &found->second : nullptr;
}

/// Returns a number of tokens; none if a node has reported another kind of value.
std::optional<std::int64_t> countOf(const Value* value) {
    try {
        if (value != nullptr) return value->as<std::int64_t>();
    } catch (const WrongTypeError&) {  // it is no number
    }
    return {};
}

}  // namespace

ModelMetrics::ModelMetrics() : began_(std::chrono::system_clock::now()) {}

void ModelMetrics::take(const Span& span) {
    if (!span.is_remote || find(span, "gen_ai.operation.name") == nullptr) return;
    std::vector<SpanAttribute> attributes;
    for (const std::string_view name : dimensions) {
        if (const Value* const value = find(span, name)) attributes.emplace_back(std::string(name), *value);
    }
    add(durations_, second_bounds, attributes, std::chrono::duration<double>(span.end - span.start).count());
    for (const char* const type : {"input", "output"}) {
        const std::optional<std::int64_t> tokens = countOf(find(span, std::string("gen_ai.usage.") + type + "_tokens"));
        if (!tokens) continue;
        std::vector<SpanAttribute> typed = attributes;
        typed.emplace_back("gen_ai.token.type", Value(type));
        add(tokens_, token_bounds, std::move(typed), static_cast<double>(*tokens));
    }
}

void ModelMetrics::add(Histograms& histograms, std::span<const double> bounds, std::vector<SpanAttribute> attributes,
                       double value) {
    std::string key;
    for (const auto& [name, each] : attributes) key += name + "=" + std::string(each.bytes()) + "\n";
    if (histograms.size() >= series_max && !histograms.contains(key)) {
        key.clear();
        attributes = {{"otel.metric.overflow", Value(true)}};
    }
    Histogram& histogram = histograms[key];
    if (histogram.count == 0) {
        histogram.attributes = std::move(attributes);
        histogram.counts.resize(bounds.size() + 1);
        histogram.least = histogram.most = value;
    }
    // A bucket has its upper bound.
    const auto bucket = std::ranges::lower_bound(bounds, value) - bounds.begin();
    ++histogram.counts[static_cast<std::size_t>(bucket)];
    ++histogram.count;
    histogram.sum += value;
    histogram.least = std::min(histogram.least, value);
    histogram.most = std::max(histogram.most, value);
}

void ModelMetrics::encode(const Histograms& histograms, std::span<const double> bounds, const char* name,
                          const char* unit, const char* description, Encoder& out) const {
    const std::string now = stategraph::detail::unixNs(std::chrono::system_clock::now());
    const std::string began = stategraph::detail::unixNs(began_);
    out.map(4);
    out.text("name");
    out.text(name);
    out.text("unit");
    out.text(unit);
    out.text("description");
    out.text(description);
    out.text("histogram");
    out.map(2);
    out.text("aggregationTemporality");
    out.integer(2);  // cumulative
    out.text("dataPoints");
    out.array(histograms.size());
    for (const auto& [key, each] : histograms) {
        out.map(9);
        stategraph::detail::encodeAttributes(each.attributes, out);
        out.text("startTimeUnixNano");
        out.text(began);
        out.text("timeUnixNano");
        out.text(now);
        out.text("count");
        out.text(std::to_string(each.count));
        out.text("sum");
        out.real(each.sum);
        out.text("min");
        out.real(each.least);
        out.text("max");
        out.real(each.most);
        out.text("bucketCounts");
        out.array(each.counts.size());
        for (const std::uint64_t count : each.counts) out.text(std::to_string(count));
        out.text("explicitBounds");
        out.array(bounds.size());
        for (const double bound : bounds) out.real(bound);
    }
}

std::string ModelMetrics::request(std::span<const SpanAttribute> resource) const {
    std::string cbor;
    Encoder out(cbor);
    out.map(1);
    out.text("resourceMetrics");
    out.array(1);
    stategraph::detail::encodeScope(resource, "scopeMetrics", "metrics", out);
    out.array(2);
    encode(tokens_, token_bounds, "gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.",
           out);
    encode(durations_, second_bounds, "gen_ai.client.operation.duration", "s", "Duration of calls of models.", out);
    return cborToJson(cbor);
}

}  // namespace stategraph::telemetry
