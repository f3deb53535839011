#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "benchmarks/report/lines.hpp"
#include "benchmarks/report/series.hpp"

namespace bench::report {

/// A value with a unit as people read it: "1.13 µs", "1.58 x", "212 k/s".
std::string readable(double value, const std::string& unit);

/// A whole number with its digits in groups of three: "10,000".
std::string grouped(double number);

/// When, where and how it was measured, as a list in Markdown.
void printFacts(std::ostream& out, const boost::json::object& facts);

/// The table, in Markdown that lines up in a terminal.
void printTable(std::ostream& out, const std::string& title, const std::vector<Line>& lines);

/// name, what, value, unit, spread, floor, peer, ratio_floor, ratio_peer, budget, met; null where there is none.
boost::json::array toJson(const std::vector<Line>& lines);

/// How our series grow: cost at the smallest and the largest size, and the p of cost ~ size^p between them.
void printGrowth(std::ostream& out, const std::vector<Chart>& charts);
boost::json::array growthToJson(const std::vector<Chart>& charts);

/// JSON with each element of the members that are arrays on a line of its own, so that differences can be read.
void writeJson(std::ostream& out, const boost::json::object& object);

/// For each chart a script for gnuplot, `<folder>/<name>.gp`, that draws it into `<folder>/<name>.svg`. Throws
/// std::runtime_error if it cannot be written.
void writeCharts(const std::string& folder, const std::vector<Chart>& charts);

}  // namespace bench::report
