#include "benchmarks/report/json_file.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace bench::report {

namespace json = boost::json;

json::value readJson(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    try {
        return json::parse(text.str());
    } catch (const std::exception& error) {
        throw std::runtime_error(path + " is no JSON: " + error.what());
    }
}

double numberOf(const json::value& value) { return value.is_number() ? value.to_number<double>() : 0.0; }

std::string textOf(const json::object& object, const char* name) {
    const auto* value = object.if_contains(name);
    return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

}  // namespace bench::report
