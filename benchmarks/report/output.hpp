#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "benchmarks/report/lines.hpp"
#include "benchmarks/report/series.hpp"
#include "benchmarks/report/tables.hpp"

namespace bench::report {

/// Returns a value with a readable unit, such as "1.13 µs", "1.58 x" or "212 k/s".
std::string readable(double value, const std::string& unit);

/// Returns a whole number with its digits in groups of three, such as "10,000".
std::string grouped(double number);

/// Prints when, where and how the figures were measured, as a list in Markdown.
void printFacts(std::ostream& out, const boost::json::object& facts);

/// Prints the table in Markdown whose columns are aligned in a terminal.
void printTable(std::ostream& out, const std::string& title, const std::vector<Line>& lines);

/// Returns name, what, value, unit, spread, floor, ratio_floor, budget, met and peers. What has no value is null.
boost::json::array toJson(const std::vector<Line>& lines);

/// Prints a table of tables.json. What was not measured is an empty cell.
void printTable(std::ostream& out, const Table& table);
boost::json::array toJson(const std::vector<Table>& tables);

/// Prints how our series grow: the cost at the smallest and the largest size, and the p of cost ~ size^p between them.
void printGrowth(std::ostream& out, const std::vector<Chart>& charts);
boost::json::array growthToJson(const std::vector<Chart>& charts);

/// Writes JSON in which each element of the arrays is on a line of its own, so that differences are readable.
void writeJson(std::ostream& out, const boost::json::object& object);

/// Writes for each chart a gnuplot script, `<folder>/<name>.gp`, which draws it into `<folder>/<name>.svg`. Throws
/// std::runtime_error if it cannot be written.
void writeCharts(const std::string& folder, const std::vector<Chart>& charts);

}  // namespace bench::report
