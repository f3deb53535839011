#include "benchmarks/report/peers.hpp"

#include <algorithm>
#include <stdexcept>

#include "benchmarks/report/json_file.hpp"

namespace bench::report {
namespace {

namespace json = boost::json;

// Converts to our unit, which is nanoseconds if it is a time.
double factorOf(const std::string& unit) { return unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 1.0; }

bool isBetter(const PeerFigure& a, const PeerFigure& b) { return a.is_rate ? a.value > b.value : a.value < b.value; }

void add(std::vector<PeerFigure>& figures, PeerFigure figure) {
    const auto same =
        std::find_if(figures.begin(), figures.end(), [&](const auto& f) { return f.peer == figure.peer; });
    if (same == figures.end()) {
        figures.push_back(std::move(figure));
    } else if (isBetter(figure, *same)) {
        *same = std::move(figure);
    }
}

}  // namespace

void readPeers(const std::string& path, PeerFigures& into) {
    const json::value file = readJson(path);
    const std::string peer = textOf(file.as_object(), "peer");
    for (const auto& entry : file.as_object().at("figures").as_array()) {
        const auto& row = entry.as_object();
        const std::string unit = textOf(row, "unit");
        std::vector<double> samples;
        for (const auto& sample : row.at("samples").as_array()) samples.push_back(numberOf(sample) * factorOf(unit));
        if (samples.empty()) throw std::runtime_error(path + ": no samples of " + textOf(row, "name"));
        std::sort(samples.begin(), samples.end());
        add(into[textOf(row, "name")], {peer, samples[samples.size() / 2], unit == "/s"});
    }
}

void takePeers(Measurements& from, PeerFigures& into) {
    static const std::string mark = "/peer/";
    for (auto each = from.begin(); each != from.end();) {
        const auto at = each->first.find(mark);
        if (at == std::string::npos) {
            ++each;
            continue;
        }
        if (each->second.error.empty())
            add(into[each->first.substr(0, at)], {each->first.substr(at + mark.size()), each->second.time.value});
        each = from.erase(each);
    }
}

const PeerFigure* bestPeer(const PeerFigures& peers, const std::string& name, const std::string& named) {
    const auto found = peers.find(name);
    if (found == peers.end()) return nullptr;
    const PeerFigure* best = nullptr;
    for (const auto& figure : found->second) {
        if (figure.peer.starts_with(named) && (!best || isBetter(figure, *best))) best = &figure;
    }
    return best;
}

}  // namespace bench::report
