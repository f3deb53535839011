#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bench::report {

/// A median with its spread.
struct Figure {
    double value = 0;
    /// The standard deviation as a share of the mean; none if there was a single run.
    std::optional<double> spread = {};
};

/// One case of a workload, as Google Benchmark measured it.
struct Measurement {
    /// The nanoseconds of one iteration, or of one of its `items`.
    Figure time = {};
    std::map<std::string, Figure> counters = {};
    /// Why there is no time, if the case failed.
    std::string error = {};
};

/// By `<workload>/<case>[/size][/floor]`.
using Measurements = std::map<std::string, Measurement>;

/// Adds the figures that a Google Benchmark program printed as JSON. Throws std::runtime_error for a file that has
/// none, or that was written by a Debug build or by another program.
void readMeasurements(const std::string& path, Measurements& into);

/// Returns the name without the additions of Google Benchmark ("/manual_time", "/iterations:1", …).
std::string plainName(const std::string& run_name);

}  // namespace bench::report
