#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bench::report {

/// What another library takes for a case.
struct PeerFigure {
    std::string peer;
    double value = 0;
    double spread = 0;
    /// Measured by this run of the harness; else quoted from what `source` says.
    bool is_measured = false;
    std::string source = {};
};
/// By the case's name.
using PeerFigures = std::map<std::string, std::vector<PeerFigure>>;

/// Adds what peers' programs wrote: `{"peer": …, "figures": [{"name": …, "unit": …, "samples": […]}]}`; the median
/// counts. Throws std::runtime_error.
void readMeasuredPeers(const std::string& path, PeerFigures& into);
/// How many times as long as on the day of the quoted figures the measured peer takes for the cases under "reference"
/// in benchmarks/peers/published.json (geometric mean); none if it was not measured in this run.
std::optional<double> slowness(const std::string& path, const PeerFigures& measured);
/// Adds quoted figures: benchmarks/peers/published.json. They are multiplied by `slowness`, so that a slower machine
/// is not taken for a slower library.
void readPublishedPeers(const std::string& path, double slowness, PeerFigures& into);

}  // namespace bench::report
