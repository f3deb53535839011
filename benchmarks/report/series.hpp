#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/report/measurement.hpp"
#include "benchmarks/report/peers.hpp"

namespace bench::report {

/// One curve of a chart: microseconds by size.
struct Series {
    std::string label;
    std::map<double, double> points = {};
    /// Whether it is the curve of a floor or a peer, drawn next to ours.
    bool is_other = false;

    /// Returns the p of cost ~ size^p between the smallest and the largest size, or none if there are fewer than two
    /// sizes.
    std::optional<double> exponent() const;
};

struct Chart {
    /// The name of the file without its extension.
    std::string name;
    std::string title;
    /// What the sizes count.
    std::string size;
    std::vector<Series> series = {};
};

/// Returns the charts of benchmarks/charts.json (the grammar is at its top) with the measured figures. Charts without a
/// curve of two sizes are left out. Throws std::runtime_error for a file that cannot be read.
std::vector<Chart> readCharts(const std::string& path, const Measurements& measurements, const PeerFigures& peers);

}  // namespace bench::report
