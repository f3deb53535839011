#pragma once
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/report/measurement.hpp"
#include "benchmarks/report/peers.hpp"

namespace bench::report {

/// One line of the table: a figure, what it is compared with, and whether it keeps its budget.
struct Line {
    std::string name;
    /// In words, of lines that have a budget.
    std::string what = {};
    std::string unit = {};
    std::optional<double> value = {};
    std::optional<double> spread = {};
    std::optional<double> floor = {};
    std::optional<PeerFigure> measured_peer = {};
    std::vector<PeerFigure> published_peers = {};
    std::optional<double> budget = {};
    /// The budget is the least instead of the most.
    bool at_least = false;
    /// Of figures that depend on the machine's speed (times, and counts a second): the figure on a machine as fast as
    /// the one that the budget was made on. The budget judges this one.
    std::optional<double> at_reference_speed = {};
    std::string error = {};

    std::optional<bool> met() const;
    std::optional<double> ratioToFloor() const;
    /// To the measured peer, or to the best published one. Below 1 is faster.
    std::optional<double> ratioToPeer() const;
    std::optional<double> peer() const;
};

/// The lines of the budget (benchmarks/budget.json), in its order. One that was not measured has neither a value nor an
/// error. `slowness` as peers.hpp says, if it is known. Throws std::runtime_error for a budget that cannot be read.
std::vector<Line> budgetLines(const std::string& path, const Measurements& measurements, const PeerFigures& peers,
                              std::optional<double> slowness);

/// A line for each case that was measured.
std::vector<Line> caseLines(const Measurements& measurements, const PeerFigures& peers);

}  // namespace bench::report
