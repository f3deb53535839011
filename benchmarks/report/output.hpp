#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "benchmarks/report/lines.hpp"

namespace bench::report {

/// A value with a unit as people read it: "1.13 µs", "1.58 x", "212 k/s".
std::string readable(double value, const std::string& unit);

/// The table, in Markdown that lines up in a terminal.
void printTable(std::ostream& out, const std::string& title, const std::vector<Line>& lines);

/// name, what, value, unit, spread, floor, peer, ratio_floor, ratio_peer, budget, met; null where there is none.
boost::json::array toJson(const std::vector<Line>& lines);

/// For each workload with a case of several sizes a script for gnuplot, `<folder>/<workload>.gp`, that draws cost against size into
/// `<folder>/<workload>.svg`. Throws std::runtime_error if it cannot be written.
void writeCharts(const std::string& folder, const std::vector<Line>& lines);

}  // namespace bench::report
