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
        row["ratio_floor"] = orNull(line.ratioToFloor());
        row["budget"] = orNull(line.budget);
        row["met"] = orNull(line.met());
        if (!line.error.empty()) row["error"] = line.error;
        json::array peers;
        for (const auto& peer : line.peers) {
            if (line.value)
                peers.push_back(
                    {{"peer", peer.peer}, {"value", peer.value}, {"times_better", peer.timesBetter(*line.value)}});
        }
        if (!peers.empty()) row["peers"] = std::move(peers);
        rows.push_back(std::move(row));
    }
    return rows;
}

json::array toJson(const std::vector<Table>& tables) {
    json::array rows;
    for (const Table& table : tables) {
        for (const auto& each : table.rows) {
            json::object row{{"table", table.title}, {"what", each.what}};
            for (std::size_t i = 0; i < table.columns.size(); ++i) {
                row[table.columns[i].label] = orNull(each.values[i]);
            }
            if (!each.source.empty()) row["published"] = each.source;
            rows.push_back(std::move(row));
        }
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
