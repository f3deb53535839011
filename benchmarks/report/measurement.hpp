#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bench::report {

/// A median with what it varies by.
struct Figure {
    double value = 0;
    /// The standard deviation as a share of the mean; none of a single run.
    std::optional<double> spread = {};
};

/// One case of a workload as Google Benchmark measured it.
struct Measurement {
    /// Nanoseconds of one iteration, or of one of its `items`.
    Figure time = {};
    std::map<std::string, Figure> counters = {};
    /// Why there is none, if the case failed.
    std::string error = {};
};

/// By `<workload>/<case>[/size][/floor]`.
using Measurements = std::map<std::string, Measurement>;

/// Adds what a Google Benchmark program printed as JSON. Throws std::runtime_error for a file that is none, or that a
/// Debug build or another program made.
void readMeasurements(const std::string& path, Measurements& into);

/// The name without what Google Benchmark adds to it ("/manual_time", "/iterations:1", …).
std::string plainName(const std::string& run_name);

}  // namespace bench::report
