#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <stategraph/encoding.hpp>
#include <stategraph/spans.hpp>

namespace stategraph::telemetry {

/// The histograms of calls of models that OpenTelemetry's conventions name, made of their spans. Not safe from several
/// threads.
class ModelMetrics {
public:
    ModelMetrics();
    /// Counts a span, unless it is no call of a model.
    void take(const Span& span);
    bool isEmpty() const noexcept { return tokens_.empty() && durations_.empty(); }
    /// Returns the request of OTLP/HTTP (ExportMetricsServiceRequest) as JSON. The counts are those since the
    /// beginning.
    std::string request(std::span<const SpanAttribute> resource) const;

private:
    struct Histogram {
        std::vector<SpanAttribute> attributes;
        std::vector<std::uint64_t> counts;  // by bucket
        std::uint64_t count = 0;
        double sum = 0;
        double least = 0;
        double most = 0;
    };
    using Histograms = std::map<std::string, Histogram>;  // by the attributes' bytes

    static void add(Histograms& histograms, std::span<const double> bounds, std::vector<SpanAttribute> attributes,
                    double value);
    void encode(const Histograms& histograms, std::span<const double> bounds, const char* name, const char* unit,
                const char* description, Encoder& out) const;

    std::chrono::system_clock::time_point began_;
    Histograms tokens_;
    Histograms durations_;
};

}  // namespace stategraph::telemetry
