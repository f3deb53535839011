#include "benchmarks/report/lines.hpp"

#include <cmath>
#include <stdexcept>

#include "benchmarks/report/json_file.hpp"

namespace bench::report {
namespace {

namespace json = boost::json;

// Returns the spread of the ratio of two figures that vary independently.
std::optional<double> spreadOfRatio(const Figure& a, const Figure& b) {
    if (!a.spread || !b.spread) return std::nullopt;
    return std::hypot(*a.spread, *b.spread);
}

void compareWithCase(Line& line, const Figure* figure, const json::object& other, const Measurements& measurements) {
    const std::string other_name = textOf(other, "case");
    const Figure* base = figureOf(measurements, other_name, textOf(other, "counter"));
    line.name += " / " + other_name;
    if (!figure || !base || base->value == 0) return;
    line.value = figure->value / base->value;
    line.spread = spreadOfRatio(*figure, *base);
}

std::vector<PeerFigure> peersOf(const PeerFigures& peers, const std::string& name) {
    const auto found = peers.find(name);
    return found == peers.end() ? std::vector<PeerFigure>() : found->second;
}

void compareWithPeer(Line& line, const Figure* figure, const PeerFigure* peer) {
    if (!peer || !figure || figure->value <= 0) return;
    line.name += " / " + peer->peer;
    line.value = peer->timesBetter(figure->value);
    line.spread = figure->spread;
}

// Reads a line of the budget, whose grammar is at the top of budget.json.
Line budgetLine(const json::object& row, const Measurements& measurements, const PeerFigures& peers) {
    const std::string name = textOf(row, "case");
    const std::string counter = textOf(row, "counter");
    Line line{.name = counter.empty() ? name : name + ":" + counter,
              .what = textOf(row, "what"),
              .unit = textOf(row, "unit")};
    line.at_least = row.contains("at_least");
    if (const auto* budget = row.if_contains(line.at_least ? "at_least" : "at_most")) line.budget = numberOf(*budget);
    if (const auto found = measurements.find(name); found != measurements.end()) line.error = found->second.error;

    const Figure* figure = figureOf(measurements, name, counter);
    if (const auto* other = row.if_contains("relative_to")) {
        compareWithCase(line, figure, other->as_object(), measurements);
        return line;
    }
    if (const auto* peer = row.if_contains("relative_to_peer")) {
        const std::string named = peer->is_string() ? std::string(peer->as_string()) : "";
        compareWithPeer(line, figure, bestPeer(peers, line.name, named));
        return line;
    }
    if (!figure) return line;
    line.value = figure->value;
    line.spread = figure->spread;
    line.peers = peersOf(peers, line.name);
    if (const Figure* floor = counter.empty() ? figureOf(measurements, name + "/floor") : nullptr)
        line.floor = floor->value;
    return line;
}

}  // namespace

const Figure* figureOf(const Measurements& measurements, const std::string& name, const std::string& counter) {
    const auto found = measurements.find(name);
    if (found == measurements.end() || !found->second.error.empty()) return nullptr;
    if (counter.empty()) return &found->second.time;
    const auto at = found->second.counters.find(counter);
    if (at == found->second.counters.end())
        throw std::runtime_error("the counter " + counter + " of " + name + " is asked for, which has none");
    return &at->second;
}

std::optional<bool> Line::met() const {
    if (!budget) return std::nullopt;
    if (!value) return error.empty() ? std::optional<bool>() : false;
    return at_least ? *value >= *budget : *value <= *budget;
}

std::optional<double> Line::ratioToFloor() const {
    return value && floor && *floor > 0 ? std::optional(*value / *floor) : std::nullopt;
}

std::vector<Line> budgetLines(const std::string& path, const Measurements& measurements, const PeerFigures& peers) {
    std::vector<Line> lines;
    const json::value file = readJson(path);
    for (const auto& row : file.as_object().at("lines").as_array())
        lines.push_back(budgetLine(row.as_object(), measurements, peers));
    return lines;
}

std::vector<Line> caseLines(const Measurements& measurements, const PeerFigures& peers) {
    std::vector<Line> lines;
    for (const auto& [name, measurement] : measurements) {
        if (name.ends_with("/floor")) continue;
        Line line{.name = name, .unit = "ns", .error = measurement.error};
        if (measurement.error.empty()) {
            line.value = measurement.time.value;
            line.spread = measurement.time.spread;
        }
        if (const Figure* floor = figureOf(measurements, name + "/floor")) line.floor = floor->value;
        line.peers = peersOf(peers, name);
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace bench::report
