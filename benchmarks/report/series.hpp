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
    /// A floor's or a peer's, drawn beside ours.
    bool is_other = false;

    /// The p of cost ~ size^p between the smallest and the largest size; none of fewer than two.
    std::optional<double> exponent() const;
};

struct Chart {
    /// The file's name without extension.
    std::string name;
    std::string title;
    /// What the sizes count.
    std::string size;
    std::vector<Series> series = {};
};

/// The charts of benchmarks/charts.json (its top says the grammar) with what was measured; those without a curve of two
/// sizes are left out. Throws std::runtime_error for a file that cannot be read.
std::vector<Chart> readCharts(const std::string& path, const Measurements& measurements, const PeerFigures& peers);

}  // namespace bench::report
