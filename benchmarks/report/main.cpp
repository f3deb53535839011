// Reads what the workloads and the peers' programs wrote into a folder, and prints how it compares with floors, peers
// and the budget.
//
//   stategraph-bench-report RESULTS BENCHMARKS OUT.json
//
// RESULTS: workload-*.json (Google Benchmark), peer-*.json, facts (lines of KEY=VALUE). BENCHMARKS: this folder of the
// source tree, for budget.json, tables.json and charts.json. Scripts for charts go to RESULTS/charts. Exit code 1 if
// something cannot be read.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "benchmarks/report/output.hpp"

namespace {

namespace fs = std::filesystem;
namespace report = bench::report;

std::vector<std::string> filesOf(const fs::path& folder, const std::string& prefix) {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(prefix) && name.ends_with(".json")) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

boost::json::object readFacts(const fs::path& path) {
    boost::json::object facts;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (const auto at = line.find('='); at != std::string::npos) facts[line.substr(0, at)] = line.substr(at + 1);
    }
    return facts;
}

void writeReport(const fs::path& results, const fs::path& benchmarks, const std::string& out_path) {
    report::Measurements measurements;
    for (const auto& file : filesOf(results, "workload-")) report::readMeasurements(file, measurements);
    report::PeerFigures peers;
    report::takePeers(measurements, peers);
    for (const auto& file : filesOf(results, "peer-")) report::readPeers(file, peers);
    const auto facts = readFacts(results / "facts");

    const auto cases = report::caseLines(measurements, peers);
    auto budget = report::budgetLines((benchmarks / "budget.json").string(), measurements, peers);
    std::erase_if(budget,
                  [](const report::Line& line) { return !line.value && line.error.empty(); });  // `--only` left it out

    const auto tables = report::readTables((benchmarks / "tables.json").string(), measurements, peers);
    const auto charts = report::readCharts((benchmarks / "charts.json").string(), measurements, peers);

    report::printFacts(std::cout, facts);
    report::printTable(std::cout, "Budget", budget);
    for (const auto& table : tables) report::printTable(std::cout, table);
    report::printGrowth(std::cout, charts);
    report::printTable(std::cout, "All cases", cases);

    std::ofstream out(out_path);
    report::writeJson(out, {{"facts", facts},
                            {"budget", report::toJson(budget)},
                            {"tables", report::toJson(tables)},
                            {"growth", report::growthToJson(charts)},
                            {"cases", report::toJson(cases)}});
    if (!out.flush()) throw std::runtime_error("cannot write " + out_path);
    fs::create_directories(results / "charts");
    report::writeCharts((results / "charts").string(), charts);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: " << argv[0] << " RESULTS BENCHMARKS OUT.json\n";
        return 2;
    }
    try {
        writeReport(argv[1], argv[2], argv[3]);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << argv[0] << ": " << error.what() << "\n";
        return 1;
    }
}
