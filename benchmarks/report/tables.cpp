#include "benchmarks/report/tables.hpp"

#include <algorithm>

#include "benchmarks/report/json_file.hpp"
#include "benchmarks/report/lines.hpp"

namespace bench::report {
namespace {

namespace json = boost::json;

std::optional<double> valueOf(const json::object& row, const std::string& counter, const Measurements& measurements,
                              const PeerFigures& peers) {
    const std::string name = textOf(row, "case");
    if (const std::string peer = textOf(row, "peer"); !peer.empty()) {
        const auto* figure = bestPeer(peers, counter.empty() ? name : name + ":" + counter, peer);
        return figure ? std::optional(figure->value) : std::nullopt;
    }
    const auto found = measurements.find(name);
    if (found == measurements.end() || (!counter.empty() && !found->second.counters.contains(counter)))
        return std::nullopt;
    const Figure* figure = figureOf(measurements, name, counter);
    return figure ? std::optional(figure->value) : std::nullopt;
}

bool isMeasured(const Table::Row& row) {
    return row.source.empty() &&
           std::any_of(row.values.begin(), row.values.end(), [](const auto& value) { return value.has_value(); });
}

}  // namespace

std::vector<Table> readTables(const std::string& path, const Measurements& measurements, const PeerFigures& peers) {
    std::vector<Table> tables;
    const json::value file = readJson(path);
    for (const auto& entry : file.as_object().at("tables").as_array()) {
        const auto& of = entry.as_object();
        Table table{.title = textOf(of, "title"), .columns = {}, .rows = {}};
        const auto& columns = of.at("columns").as_array();
        for (const auto& column : columns)
            table.columns.push_back({textOf(column.as_object(), "label"), textOf(column.as_object(), "unit")});
        for (const auto& each : of.at("rows").as_array()) {
            const auto& row = each.as_object();
            table.rows.push_back({.what = textOf(row, "what"), .values = {}, .source = textOf(row, "source")});
            for (std::size_t i = 0; i < columns.size(); ++i) {
                const std::string counter = textOf(columns[i].as_object(), "counter");
                const auto* published = row.if_contains(table.columns[i].label);
                table.rows.back().values.push_back(published ? std::optional(numberOf(*published))
                                                             : valueOf(row, counter, measurements, peers));
            }
        }
        if (std::any_of(table.rows.begin(), table.rows.end(), isMeasured)) tables.push_back(std::move(table));
    }
    return tables;
}

}  // namespace bench::report
