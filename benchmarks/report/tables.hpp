#pragma once
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/report/measurement.hpp"
#include "benchmarks/report/peers.hpp"

namespace bench::report {

/// Some figures of several programs beside each other.
struct Table {
    struct Column {
        std::string label;
        std::string unit;
    };
    struct Row {
        std::string what;
        /// One for each column; none if it was not measured.
        std::vector<std::optional<double>> values;
        /// Who published the figures, if they are not measured.
        std::string source;
    };

    std::string title;
    std::vector<Column> columns;
    std::vector<Row> rows;
};

/// Returns the tables of benchmarks/tables.json (the grammar is at its top) of which a figure was measured. Throws
/// std::runtime_error for a file that cannot be read.
std::vector<Table> readTables(const std::string& path, const Measurements& measurements, const PeerFigures& peers);

}  // namespace bench::report
