#include "benchmarks/report/series.hpp"

#include <algorithm>
#include <cmath>

#include "benchmarks/report/json_file.hpp"

namespace bench::report {
namespace {

namespace json = boost::json;

// Returns the size in a name such as "CASE/1000" or "CASE/1000/floor", if `name` is that case at some size.
std::optional<double> sizeOf(const std::string& name, const std::string& of, const std::string& after) {
    if (!name.starts_with(of + "/") || !name.ends_with(after) || name.size() <= of.size() + 1 + after.size())
        return std::nullopt;
    const std::string digits = name.substr(of.size() + 1, name.size() - of.size() - 1 - after.size());
    if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::stod(digits);
}

// Returns microseconds: the time of a case, or a counter whose name ends with _us.
Series measured(const std::string& of, const std::string& counter, const std::string& after,
                const Measurements& measurements) {
    Series series;
    for (const auto& [name, measurement] : measurements) {
        const auto size = sizeOf(name, of, after);
        if (!size || !measurement.error.empty()) continue;
        if (counter.empty()) {
            series.points[*size] = measurement.time.value / 1e3;
        } else if (const auto found = measurement.counters.find(counter); found != measurement.counters.end()) {
            series.points[*size] = found->second.value;
        }
    }
    return series;
}

Series ofPeer(const std::string& of, const std::string& peer, const PeerFigures& peers) {
    Series series;
    for (const auto& [name, figures] : peers) {
        const auto size = sizeOf(name, of, "");
        if (const auto* figure = size ? bestPeer(peers, name, peer) : nullptr)
            series.points[*size] = figure->value / 1e3;
    }
    return series;
}

void add(Chart& chart, Series series, std::string label, bool is_other) {
    series.label = std::move(label);
    series.is_other = is_other;
    // A logarithmic axis cannot show a point without a cost.
    std::erase_if(series.points, [](const auto& point) { return point.second <= 0; });
    if (series.points.size() > 1) chart.series.push_back(std::move(series));
}

}  // namespace

std::optional<double> Series::exponent() const {
    if (points.size() < 2) return std::nullopt;
    const auto& [first_size, first] = *points.begin();
    const auto& [last_size, last] = *points.rbegin();
    return std::log(last / first) / std::log(last_size / first_size);
}

std::vector<Chart> readCharts(const std::string& path, const Measurements& measurements, const PeerFigures& peers) {
    std::vector<Chart> charts;
    const json::value file = readJson(path);
    for (const auto& entry : file.as_object().at("charts").as_array()) {
        const auto& row = entry.as_object();
        Chart chart{.name = textOf(row, "name"), .title = textOf(row, "title"), .size = textOf(row, "size")};
        for (const auto& curve : row.at("series").as_array()) {
            const auto& of = curve.as_object();
            const std::string name = textOf(of, "case");
            const std::string label = textOf(of, "label");
            const std::string counter = textOf(of, "counter");
            add(chart, measured(name, counter, "", measurements), label, false);
            if (of.contains("floor"))
                add(chart, measured(name, counter, "/floor", measurements), label + ", floor", true);
            if (const std::string peer = textOf(of, "peer"); !peer.empty())
                add(chart, ofPeer(name, peer, peers), label + ", " + peer, true);
        }
        const bool has_ours = std::any_of(chart.series.begin(), chart.series.end(),
                                          [](const Series& series) { return !series.is_other; });
        if (has_ours) charts.push_back(std::move(chart));
    }
    return charts;
}

}  // namespace bench::report
