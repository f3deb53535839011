#pragma once
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/report/measurement.hpp"
#include "benchmarks/report/peers.hpp"

namespace bench::report {

/// One line of the table: a figure, the figures with which it is compared, and whether it keeps its budget.
struct Line {
    std::string name;
    /// A description, for lines with a budget.
    std::string what = {};
    std::string unit = {};
    std::optional<double> value = {};
    std::optional<double> spread = {};
    std::optional<double> floor = {};
    std::optional<PeerFigure> measured_peer = {};
    std::vector<PeerFigure> published_peers = {};
    std::optional<double> budget = {};
    /// Whether the budget is a minimum instead of a maximum.
    bool at_least = false;
    /// For figures that depend on the machine's speed (times, and counts per second): the figure on a machine as fast
    /// as the one for which the budget was set. The budget judges this figure.
    std::optional<double> at_reference_speed = {};
    std::string error = {};

    std::optional<bool> met() const;
    std::optional<double> ratioToFloor() const;
    /// The ratio to the measured peer, or to the best published one. Below 1 means that ours is faster.
    std::optional<double> ratioToPeer() const;
    std::optional<double> peer() const;
};

/// Returns the lines of the budget (benchmarks/budget.json), in its order. A line that was not measured has neither a
/// value nor an error. `slowness` is that of peers.hpp, if it is known. Throws std::runtime_error for a budget that
/// cannot be read.
std::vector<Line> budgetLines(const std::string& path, const Measurements& measurements, const PeerFigures& peers,
                              std::optional<double> slowness);

/// Returns a line for each case that was measured.
std::vector<Line> caseLines(const Measurements& measurements, const PeerFigures& peers);

}  // namespace bench::report
