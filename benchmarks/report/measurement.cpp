#include "benchmarks/report/measurement.hpp"

#include <set>
#include <stdexcept>

#include "benchmarks/report/json_file.hpp"

namespace bench::report {
namespace {

namespace json = boost::json;

// CPU time is used for cases that compute on one thread, because other programs on the machine disturb it less. Cases
// that say so use real time.
const char* timeOf(const json::object& row) {
    const std::string name = textOf(row, "run_name");
    const bool is_real = name.find("/real_time") != std::string::npos ||
                         name.find("/manual_time") != std::string::npos || !row.contains("cpu_time");
    return is_real ? "real_time" : "cpu_time";
}

double nanoseconds(const json::object& row) {
    const std::string unit = textOf(row, "time_unit");
    const double factor = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : 1e9;
    return numberOf(row.at(timeOf(row))) * factor;
}

bool isCounter(std::string_view name) {
    static const std::set<std::string_view> own = {"name",
                                                   "family_index",
                                                   "per_family_instance_index",
                                                   "run_name",
                                                   "run_type",
                                                   "repetitions",
                                                   "repetition_index",
                                                   "threads",
                                                   "aggregate_name",
                                                   "aggregate_unit",
                                                   "iterations",
                                                   "real_time",
                                                   "cpu_time",
                                                   "time_unit",
                                                   "error_occurred",
                                                   "error_message",
                                                   "items",
                                                   "items_per_second",
                                                   "label"};
    return !own.contains(name);
}

void readMedian(const json::object& row, Measurement& into) {
    const auto* items = row.if_contains("items");
    into.time.value = nanoseconds(row) / (items && numberOf(*items) > 0 ? numberOf(*items) : 1.0);
    for (const auto& member : row) {
        if (isCounter(member.key()) && member.value().is_number())
            into.counters[std::string(member.key())].value = numberOf(member.value());
    }
}

void readSpread(const json::object& row, Measurement& into) {
    into.time.spread = numberOf(row.at(timeOf(row)));
    for (const auto& member : row) {
        if (isCounter(member.key()) && member.value().is_number())
            into.counters[std::string(member.key())].spread = numberOf(member.value());
    }
}

}  // namespace

std::string plainName(const std::string& run_name) {
    std::string plain;
    std::size_t begin = 0;
    while (begin <= run_name.size()) {
        const std::size_t end = std::min(run_name.find('/', begin), run_name.size());
        const std::string part = run_name.substr(begin, end - begin);
        const bool is_added = part == "manual_time" || part == "real_time" || part == "process_time" ||
                              part.find(':') != std::string::npos;
        if (!is_added) plain += (plain.empty() ? "" : "/") + part;
        begin = end + 1;
    }
    return plain;
}

void readMeasurements(const std::string& path, Measurements& into) {
    const json::value file = readJson(path);
    const auto& top = file.as_object();
    if (textOf(top.at("context").as_object(), "stategraph_build") != "Release") {
        throw std::runtime_error(path + " REFUSED: it was not measured by a Release build of this harness's programs");
    }
    for (const auto& entry : top.at("benchmarks").as_array()) {
        const auto& row = entry.as_object();
        Measurement& measurement = into[plainName(textOf(row, "run_name"))];
        if (const auto* failed = row.if_contains("error_occurred"); failed && failed->is_bool() && failed->as_bool()) {
            measurement.error = textOf(row, "error_message");
            continue;
        }
        const std::string aggregate = textOf(row, "aggregate_name");
        const auto* repetitions = row.if_contains("repetitions");
        const bool is_alone = aggregate.empty() && (!repetitions || numberOf(*repetitions) <= 1);
        if (aggregate == "median" || is_alone) readMedian(row, measurement);
        if (aggregate == "cv") readSpread(row, measurement);
    }
}

}  // namespace bench::report
