#include <fstream>
#include <map>
#include <stdexcept>

#include "benchmarks/report/output.hpp"

namespace bench::report {
namespace {

struct Point {
    double ours = 0;
    std::optional<double> floor = {};
    std::optional<double> peer = {};
};
using Curve = std::map<double, Point>;

// "workload/case/1000" is the case at size 1000.
bool splitSize(const std::string& name, std::string& workload, std::string& of, double& size) {
    const std::size_t first = name.find('/');
    const std::size_t last = name.rfind('/');
    if (first == std::string::npos || last == first) return false;
    const std::string digits = name.substr(last + 1);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return false;
    workload = name.substr(0, first);
    of = name.substr(first + 1, last - first - 1);
    size = std::stod(digits);
    return true;
}

template <class F>
void writeBlock(std::ostream& out, const std::string& name, const Curve& curve, F of) {
    out << "$" << name << " << EOD\n";
    for (const auto& [size, point] : curve) {
        if (const std::optional<double> value = of(point)) out << size << " " << *value / 1e3 << "\n";
    }
    out << "EOD\n";
}

void writeChart(const std::string& folder, const std::string& workload, const std::map<std::string, Curve>& curves) {
    std::ofstream out(folder + "/" + workload + ".gp");
    std::string plots;
    int number = 0;
    const auto plot = [&](const std::string& block, const std::string& title, const char* style) {
        plots += (plots.empty() ? "plot " : ", \\\n     ") + std::string("$") + block + " with linespoints " + style + " lw 2 title '" + title + "'";
    };
    for (const auto& [of, curve] : curves) {
        if (curve.size() < 2) continue;
        ++number;
        const std::string block = "c" + std::to_string(number);
        writeBlock(out, block, curve, [](const Point& p) { return std::optional(p.ours); });
        plot(block, of, ("lt " + std::to_string(number)).c_str());
        const auto& any = curve.begin()->second;
        if (any.floor) {
            writeBlock(out, block + "_floor", curve, [](const Point& p) { return p.floor; });
            plot(block + "_floor", of + ", floor", ("dt 2 lt " + std::to_string(number)).c_str());
        }
        if (any.peer) {
            writeBlock(out, block + "_peer", curve, [](const Point& p) { return p.peer; });
            plot(block + "_peer", of + ", LangGraph.js", ("dt 4 lt " + std::to_string(number)).c_str());
        }
    }
    out << "set terminal svg size 900,520 enhanced background rgb 'white' font 'sans,13'\n"
        << "set output '" << folder << "/" << workload << ".svg'\n"
        << "set title '" << workload << "' noenhanced\nset key outside right noenhanced\n"
        << "set logscale xy\nset grid\nset xlabel 'size'\nset ylabel 'µs'\nset format x '%.0f'\n"
        << plots << "\n";
    if (!out.flush()) throw std::runtime_error("cannot write " + folder + "/" + workload + ".gp");
}

}  // namespace

void writeCharts(const std::string& folder, const std::vector<Line>& lines) {
    std::map<std::string, std::map<std::string, Curve>> workloads;
    std::string workload;
    std::string of;
    double size = 0;
    for (const Line& line : lines) {
        if (!line.value || !splitSize(line.name, workload, of, size)) continue;
        workloads[workload][of][size] = {.ours = *line.value,
                                         .floor = line.floor,
                                         .peer = line.measured_peer ? std::optional(line.measured_peer->value) : std::nullopt};
    }
    for (const auto& [name, curves] : workloads) {
        bool grows = false;
        for (const auto& [_, curve] : curves) grows = grows || curve.size() > 1;
        if (grows) writeChart(folder, name, curves);
    }
}

}  // namespace bench::report
