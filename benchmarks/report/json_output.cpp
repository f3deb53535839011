#include <ostream>

#include "benchmarks/report/output.hpp"

namespace bench::report {
namespace {

namespace json = boost::json;

template <class T>
json::value orNull(const std::optional<T>& value) {
    return value ? json::value(*value) : json::value(nullptr);
}

}  // namespace

json::array toJson(const std::vector<Line>& lines) {
    json::array rows;
    for (const Line& line : lines) {
        json::object row;
        row["name"] = line.name;
        if (!line.what.empty()) row["what"] = line.what;
        row["value"] = orNull(line.value);
        row["unit"] = line.unit;
        row["spread"] = orNull(line.spread);
        row["floor"] = orNull(line.floor);
        row["peer"] = orNull(line.peer());
        if (line.measured_peer) row["peer_name"] = line.measured_peer->peer;
        row["ratio_floor"] = orNull(line.ratioToFloor());
        row["ratio_peer"] = orNull(line.ratioToPeer());
        row["budget"] = orNull(line.budget);
        if (line.at_reference_speed) row["at_reference_speed"] = *line.at_reference_speed;
        row["met"] = orNull(line.met());
        if (!line.error.empty()) row["error"] = line.error;
        json::array published;
        for (const auto& figure : line.published_peers) {
            published.push_back({{"peer", figure.peer}, {"value", figure.value}, {"source", figure.source}});
        }
        if (!published.empty()) row["published"] = std::move(published);
        rows.push_back(std::move(row));
    }
    return rows;
}

json::array growthToJson(const std::vector<Chart>& charts) {
    json::array rows;
    for (const Chart& chart : charts) {
        for (const Series& series : chart.series) {
            if (series.is_other) continue;
            json::array points;
            for (const auto& [size, cost] : series.points) points.push_back(json::array{size, cost});
            rows.push_back({{"chart", chart.name},
                            {"what", series.label},
                            {"size", chart.size},
                            {"unit", "us"},
                            {"points", std::move(points)},
                            {"exponent", orNull(series.exponent())}});
        }
    }
    return rows;
}

void writeJson(std::ostream& out, const json::object& object) {
    const char* before = "{\n";
    for (const auto& member : object) {
        out << before << json::serialize(member.key()) << ": ";
        before = ",\n";
        if (!member.value().is_array()) {
            out << json::serialize(member.value());
            continue;
        }
        const char* before_row = "[\n  ";
        for (const auto& row : member.value().as_array()) {
            out << before_row << json::serialize(row);
            before_row = ",\n  ";
        }
        out << (member.value().as_array().empty() ? "[]" : "\n]");
    }
    out << "\n}\n";
}

}  // namespace bench::report
