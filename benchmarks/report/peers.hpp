#pragma once
#include <map>
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
/// Adds quoted figures: benchmarks/peers/published.json.
void readPublishedPeers(const std::string& path, PeerFigures& into);

}  // namespace bench::report
