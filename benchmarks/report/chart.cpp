#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>

#include "benchmarks/report/output.hpp"

namespace bench::report {
namespace {

// Quotes a text for gnuplot.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
}

// Returns a range of whole decades, so that a flat curve looks flat.
std::string decades(const Chart& chart) {
    double least = std::numeric_limits<double>::max();
    double most = 0;
    for (const Series& series : chart.series) {
        for (const auto& [_, cost] : series.points) least = std::min(least, cost), most = std::max(most, cost);
    }
    const double low = std::floor(std::log10(least));
    const double high = std::max(low + 1, std::ceil(std::log10(most)));
    return "[1e" + std::to_string(static_cast<int>(low)) + ":1e" + std::to_string(static_cast<int>(high)) + "]";
}

// Returns a tic for each size that has a figure, unless it is too close to the one before.
std::string tics(const Chart& chart) {
    std::set<double> sizes;
    for (const Series& series : chart.series) {
        for (const auto& [size, _] : series.points) sizes.insert(size);
    }
    std::string text;
    double before = 0;
    const double apart = std::pow(*sizes.rbegin() / *sizes.begin(), 0.12);
    for (const double size : sizes) {
        if (before > 0 && size / before < apart) continue;
        text +=
            (text.empty() ? "" : ", ") + (quoted(grouped(size)) + " " + std::to_string(static_cast<long long>(size)));
        before = size;
    }
    return "(" + text + ")";
}

void writeChart(const std::string& folder, const Chart& chart) {
    std::ofstream out(folder + "/" + chart.name + ".gp");
    std::string plots;
    int block = 0;
    int colour = 0;
    for (const Series& series : chart.series) {
        ++block;
        if (!series.is_other) ++colour;
        out << "$s" << block << " << EOD\n";
        for (const auto& [size, cost] : series.points) out << size << " " << cost << "\n";
        out << "EOD\n";
        plots += (plots.empty() ? "plot $s" : ", \\\n     $s") + std::to_string(block) +
                 " with linespoints lw 2 pt 7 ps 0.6 lt " + std::to_string(colour) + (series.is_other ? " dt 2" : "") +
                 " title " + quoted(series.label);
    }
    out << "set terminal svg size 720,460 background rgb 'white' font 'sans,13'\n"
        << "set output " << quoted(folder + "/" + chart.name + ".svg") << "\n"
        << "set title " << quoted(chart.title)
        << " noenhanced\nset key outside bottom center maxcols 2 reverse Left noenhanced\n"
        << "set logscale xy\nset grid\nset xlabel " << quoted(chart.size)
        << " noenhanced offset 0,0.5\nset ylabel 'µs'\nset format y '%g'\n"
        << "set xtics " << tics(chart) << "\nset offsets graph 0.03, graph 0.03, 0, 0\nset yrange " << decades(chart)
        << "\n"
        << plots << "\n";
    if (!out.flush()) throw std::runtime_error("cannot write " + folder + "/" + chart.name + ".gp");
}

}  // namespace

void writeCharts(const std::string& folder, const std::vector<Chart>& charts) {
    for (const Chart& chart : charts) writeChart(folder, chart);
}

}  // namespace bench::report
