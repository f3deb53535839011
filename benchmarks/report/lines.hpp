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
    std::vector<PeerFigure> peers = {};
    std::optional<double> budget = {};
    /// Whether the budget is a minimum instead of a maximum.
    bool at_least = false;
    std::string error = {};

    std::optional<bool> met() const;
    std::optional<double> ratioToFloor() const;
};

/// Returns the figure of a case or of one of its counters, or null if it was not measured. Throws std::runtime_error if
/// the case has no such counter.
const Figure* figureOf(const Measurements& measurements, const std::string& name, const std::string& counter = "");

/// Returns the lines of the budget (benchmarks/budget.json), in its order. A line that was not measured has neither a
/// value nor an error. Throws std::runtime_error for a budget that cannot be read.
std::vector<Line> budgetLines(const std::string& path, const Measurements& measurements, const PeerFigures& peers);

/// Returns a line for each case that was measured.
std::vector<Line> caseLines(const Measurements& measurements, const PeerFigures& peers);

}  // namespace bench::report
