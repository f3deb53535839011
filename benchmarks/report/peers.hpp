#pragma once
#include <map>
#include <string>
#include <vector>

#include "benchmarks/report/measurement.hpp"

namespace bench::report {

/// The figure of another library for a case, measured in the same run.
struct PeerFigure {
    std::string peer;
    double value = 0;
    /// Whether more is better: a count a second, and not a time.
    bool is_rate = false;

    /// Returns how many times better a figure of ours is: below 1 if the peer's is better.
    double timesBetter(double ours) const { return is_rate ? ours / value : value / ours; }
};
/// By the name of the case, or by CASE:COUNTER. Each peer has one figure of a case.
using PeerFigures = std::map<std::string, std::vector<PeerFigure>>;

/// Adds the figures that peers' programs wrote: `{"peer": …, "figures": [{"name": …, "unit": …, "samples": […]}]}`. The
/// median counts, and the better one of several files, because a disturbance of the other one is not the peer's fault.
/// Throws std::runtime_error.
void readPeers(const std::string& path, PeerFigures& into);

/// Moves the cases of other libraries (CASE/peer/NAME) out of what the workloads measured.
void takePeers(Measurements& from, PeerFigures& into);

/// Returns the peer with the best figure among those whose names begin with `named`, or null.
const PeerFigure* bestPeer(const PeerFigures& peers, const std::string& name, const std::string& named = "");

}  // namespace bench::report
