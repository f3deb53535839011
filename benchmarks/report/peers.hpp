#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bench::report {

/// The figure of another library for a case.
struct PeerFigure {
    std::string peer;
    double value = 0;
    double spread = 0;
    /// Whether this run of the harness measured it. Otherwise it is quoted from `source`.
    bool is_measured = false;
    std::string source = {};
};
/// By the name of the case.
using PeerFigures = std::map<std::string, std::vector<PeerFigure>>;

/// Adds the figures that peers' programs wrote: `{"peer": …, "figures": [{"name": …, "unit": …, "samples": […]}]}`. The
/// median counts. Throws std::runtime_error.
void readMeasuredPeers(const std::string& path, PeerFigures& into);
/// Returns by which factor the measured peer is slower than on the day of the quoted figures, for the cases under
/// "reference" in benchmarks/peers/published.json (geometric mean). Returns none if it was not measured in this run.
std::optional<double> slowness(const std::string& path, const PeerFigures& measured);
/// Adds the quoted figures of benchmarks/peers/published.json. They are multiplied by `slowness`, so that a slower
/// machine does not look like a slower library.
void readPublishedPeers(const std::string& path, double slowness, PeerFigures& into);

}  // namespace bench::report
