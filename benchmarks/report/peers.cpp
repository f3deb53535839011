#include "benchmarks/report/peers.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "benchmarks/report/json_file.hpp"

namespace bench::report {
namespace {

namespace json = boost::json;

// Converts to our unit, which is nanoseconds if it is a time.
double factorOf(const std::string& unit) { return unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 1.0; }

}  // namespace

void readMeasuredPeers(const std::string& path, PeerFigures& into) {
    const json::value file = readJson(path);
    const std::string peer = textOf(file.as_object(), "peer");
    for (const auto& entry : file.as_object().at("figures").as_array()) {
        const auto& row = entry.as_object();
        std::vector<double> samples;
        for (const auto& sample : row.at("samples").as_array())
            samples.push_back(numberOf(sample) * factorOf(textOf(row, "unit")));
        if (samples.empty()) throw std::runtime_error(path + ": no samples of " + textOf(row, "name"));
        std::sort(samples.begin(), samples.end());
        double mean = 0;
        for (const double sample : samples) mean += sample / static_cast<double>(samples.size());
        double variance = 0;
        for (const double sample : samples)
            variance += (sample - mean) * (sample - mean) / static_cast<double>(samples.size());
        into[textOf(row, "name")].push_back({.peer = peer,
                                             .value = samples[samples.size() / 2],
                                             .spread = mean > 0 ? std::sqrt(variance) / mean : 0,
                                             .is_measured = true});
    }
}

std::optional<double> slowness(const std::string& path, const PeerFigures& measured) {
    const json::value file = readJson(path);
    double sum = 0;
    std::size_t count = 0;
    for (const auto& entry : file.as_object().at("reference").as_object().at("figures").as_array()) {
        const auto& row = entry.as_object();
        const auto found = measured.find(textOf(row, "name"));
        if (found == measured.end()) continue;
        double least = 0;  // of the runs before and after our cases
        for (const auto& figure : found->second) {
            if (figure.is_measured && (least == 0 || figure.value < least)) least = figure.value;
        }
        if (least <= 0) continue;
        sum += std::log(least / (numberOf(row.at("value")) * factorOf(textOf(row, "unit"))));
        ++count;
    }
    return count > 0 ? std::optional(std::exp(sum / static_cast<double>(count))) : std::nullopt;
}

void readPublishedPeers(const std::string& path, double slowness, PeerFigures& into) {
    const json::value file = readJson(path);
    const std::string source = textOf(file.as_object(), "source");
    for (const auto& entry : file.as_object().at("figures").as_array()) {
        const auto& row = entry.as_object();
        into[textOf(row, "name")].push_back(
            {.peer = textOf(row, "peer"),
             .value = numberOf(row.at("value")) * factorOf(textOf(row, "unit")) * slowness,
             .source = source});
    }
}

}  // namespace bench::report
