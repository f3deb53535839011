#include "benchmarks/report/lines.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "benchmarks/report/json_file.hpp"

namespace bench::report {
namespace {

namespace json = boost::json;

void compareWithPeers(Line& line, const std::string& name, const PeerFigures& peers) {
    const auto found = peers.find(name);
    if (found == peers.end()) return;
    for (const auto& figure : found->second) {
        if (figure.is_measured) {
            // The peer is measured before and after our cases. The lower figure counts, because a disturbance of the
            // other one is not the peer's fault.
            if (!line.measured_peer || figure.value < line.measured_peer->value) line.measured_peer = figure;
        } else {
            line.published_peers.push_back(figure);
        }
    }
}

const Figure* figureOf(const Measurements& measurements, const std::string& name, const std::string& counter) {
    const auto found = measurements.find(name);
    if (found == measurements.end() || !found->second.error.empty()) return nullptr;
    if (counter.empty()) return &found->second.time;
    const auto at = found->second.counters.find(counter);
    if (at == found->second.counters.end())
        throw std::runtime_error("the budget names the counter " + counter + " of " + name + ", which has none");
    return &at->second;
}

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

// Compares with the fastest of the peers for which `counts` returns true.
template <class F>
void compareWithFastest(Line& line, const Figure* figure, const std::vector<PeerFigure>& peers, F counts) {
    const PeerFigure* best = nullptr;
    for (const auto& peer : peers) {
        if (counts(peer) && (!best || peer.value < best->value)) best = &peer;
    }
    if (!best || !figure || figure->value <= 0) return;
    line.name += " / " + best->peer;
    line.value = best->value / figure->value;
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
    const auto* published = row.if_contains("relative_to_published");
    if (published || row.contains("relative_to_peer")) {
        const std::string named = published && published->is_string() ? std::string(published->as_string()) : "";
        const auto found = peers.find(name);
        if (found == peers.end() && published)
            throw std::runtime_error("the budget compares " + name + " with published.json, which has no figure of it");
        if (found == peers.end()) return line;
        compareWithFastest(line, figure, found->second, [&](const PeerFigure& peer) {
            return published ? !peer.is_measured && peer.peer.starts_with(named) : peer.is_measured;
        });
        return line;
    }
    if (!figure) return line;
    line.value = figure->value;
    line.spread = figure->spread;
    if (counter.empty()) {
        if (const Figure* floor = figureOf(measurements, name + "/floor", "")) line.floor = floor->value;
        compareWithPeers(line, name, peers);
    }
    return line;
}

}  // namespace

std::optional<bool> Line::met() const {
    if (!budget) return std::nullopt;
    if (!value) return error.empty() ? std::optional<bool>() : false;
    const double judged = at_reference_speed.value_or(*value);
    return at_least ? judged >= *budget : judged <= *budget;
}

std::optional<double> Line::ratioToFloor() const {
    return value && floor && *floor > 0 ? std::optional(*value / *floor) : std::nullopt;
}

std::optional<double> Line::peer() const {
    if (measured_peer) return measured_peer->value;
    if (published_peers.empty()) return std::nullopt;
    return std::min_element(published_peers.begin(), published_peers.end(),
                            [](const auto& a, const auto& b) { return a.value < b.value; })
        ->value;
}

std::optional<double> Line::ratioToPeer() const {
    const auto other = peer();
    return value && other && *other > 0 ? std::optional(*value / *other) : std::nullopt;
}

std::vector<Line> budgetLines(const std::string& path, const Measurements& measurements, const PeerFigures& peers,
                              std::optional<double> slowness) {
    std::vector<Line> lines;
    const json::value file = readJson(path);
    for (const auto& row : file.as_object().at("lines").as_array()) {
        Line line = budgetLine(row.as_object(), measurements, peers);
        if (slowness && line.value && line.unit == "ns") line.at_reference_speed = *line.value / *slowness;
        if (slowness && line.value && line.unit == "/s") line.at_reference_speed = *line.value * *slowness;
        lines.push_back(std::move(line));
    }
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
        if (const Figure* floor = figureOf(measurements, name + "/floor", "")) line.floor = floor->value;
        compareWithPeers(line, name, peers);
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace bench::report
