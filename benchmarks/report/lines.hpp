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
    std::string error = {};

    std::optional<bool> met() const;
    std::optional<double> ratioToFloor() const;
    /// To the measured peer, or to the best published one. Below 1 is faster.
    std::optional<double> ratioToPeer() const;
    std::optional<double> peer() const;
};

/// The lines of the budget (benchmarks/budget.json), in its order. One that was not measured has neither a value nor an
/// error. Throws std::runtime_error for a budget that cannot be read.
std::vector<Line> budgetLines(const std::string& path, const Measurements& measurements, const PeerFigures& peers);

/// A line for each case that was measured.
std::vector<Line> caseLines(const Measurements& measurements, const PeerFigures& peers);

}  // namespace bench::report
