#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "benchmarks/report/output.hpp"

namespace bench::report {
namespace {

std::string threeDigits(double value) {
    char text[40];
    const double size = std::fabs(value);
    std::snprintf(text, sizeof text, size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : "%.2f", value);
    return text;
}

// The width of a column is counted in characters, not in bytes.
std::size_t widthOf(const std::string& text) {
    std::size_t width = 0;
    for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    return width;
}

std::string times(double ratio) { return threeDigits(ratio) + "x"; }

// Says of each peer how many times faster or slower our figure is.
std::string peerText(const Line& line) {
    std::string text;
    for (const auto& peer : line.value ? line.peers : std::vector<PeerFigure>()) {
        const double ratio = peer.timesBetter(*line.value);
        text += (text.empty() ? "" : ", ") +
                (ratio < 1 ? times(1 / ratio) + " slower than " : times(ratio) + " faster than ");
        text += peer.peer;
    }
    return text;
}

std::vector<std::string> cellsOf(const Line& line) {
    const auto met = line.met();
    std::string budget;
    if (line.budget) budget = (line.at_least ? "≥ " : "≤ ") + readable(*line.budget, line.unit);
    return {line.what.empty() ? line.name : line.what,
            line.value            ? readable(*line.value, line.unit)
            : !line.error.empty() ? "FAILED: " + line.error
                                  : "not measured",
            line.spread ? "±" + threeDigits(*line.spread * 100) + " %" : "",
            line.floor ? times(*line.ratioToFloor()) : "",
            peerText(line),
            budget,
            met ? (*met ? "met" : "MISSED") : ""};
}

// Prints rows whose columns are aligned in a terminal. The first row is the heading.
void printRows(std::ostream& out, const std::string& title, const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows.front().size(), 3);
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], widthOf(row[i]));
    }
    out << "\n### " << title << "\n";
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            out << "| " << rows[r][i] << std::string(widths[i] - widthOf(rows[r][i]) + 1, ' ');
        }
        out << "|\n";
        if (r > 0) continue;
        for (const std::size_t width : widths) out << "|" << std::string(width + 2, '-');
        out << "|\n";
    }
}

}  // namespace

std::string grouped(double number) {
    std::string text = std::to_string(std::llround(number));
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
    return text;
}

std::string readable(double value, const std::string& unit) {
    if (unit == "ns") {
        if (value < 1e3) return threeDigits(value) + " ns";
        if (value < 1e6) return threeDigits(value / 1e3) + " µs";
        if (value < 1e9) return threeDigits(value / 1e6) + " ms";
        return threeDigits(value / 1e9) + " s";
    }
    if (unit == "us") return readable(value * 1e3, "ns");
    if (unit == "/s" && value >= 1e4) return threeDigits(value / 1e3) + " k/s";
    return threeDigits(value) + (unit == "x" || unit.empty() ? "" : " ") + unit;
}

void printFacts(std::ostream& out, const boost::json::object& facts) {
    for (const auto& fact : facts)
        out << "- " << std::string_view(fact.key()) << ": " << std::string_view(fact.value().as_string()) << "\n";
}

void printTable(std::ostream& out, const std::string& title, const std::vector<Line>& lines) {
    if (lines.empty()) return;
    std::vector<std::vector<std::string>> rows = {{"work", "median", "spread", "to floor", "peers", "budget", ""}};
    for (const Line& line : lines) rows.push_back(cellsOf(line));
    printRows(out, title, rows);
}

void printTable(std::ostream& out, const Table& table) {
    std::vector<std::vector<std::string>> rows = {{""}};
    for (const auto& column : table.columns) rows.front().push_back(column.label);
    rows.front().emplace_back("measured");
    for (const auto& each : table.rows) {
        std::vector<std::string> row = {each.what};
        for (std::size_t i = 0; i < each.values.size(); ++i) {
            row.push_back(each.values[i] ? readable(*each.values[i], table.columns[i].unit) : "");
        }
        const bool has_figure =
            std::any_of(each.values.begin(), each.values.end(), [](const auto& value) { return value.has_value(); });
        row.push_back(!each.source.empty() ? "published: " + each.source : has_figure ? "in this run" : "");
        rows.push_back(std::move(row));
    }
    printRows(out, table.title, rows);
}

void printGrowth(std::ostream& out, const std::vector<Chart>& charts) {
    std::vector<std::vector<std::string>> rows = {{"chart", "what", "from", "to", "cost", "grows", "as"}};
    for (const Chart& chart : charts) {
        for (const Series& series : chart.series) {
            if (series.is_other) continue;
            const auto& [first_size, first] = *series.points.begin();
            const auto& [last_size, last] = *series.points.rbegin();
            char law[32];
            std::snprintf(law, sizeof law, "n^%.2f", *series.exponent());
            rows.push_back({chart.name, series.label, grouped(first_size), grouped(last_size) + " " + chart.size,
                            readable(first * 1e3, "ns") + " to " + readable(last * 1e3, "ns"), times(last / first),
                            law});
        }
    }
    if (rows.size() > 1) printRows(out, "Growth", rows);
}

}  // namespace bench::report
