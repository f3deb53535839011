#include "tests/langgraph/recorded_scenarios.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace recorded {
namespace {

std::ifstream open(const std::string& name) {
    const std::string path = std::string(STATEGRAPH_TESTS_DIR "/langgraph/recorded/") + name;
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + " cannot be read");
    return file;
}

}  // namespace

const boost::json::object& graphs() {
    static const boost::json::object all = [] {
        std::ifstream file = open("graphs.json");
        return boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
    }();
    return all;
}

const std::vector<boost::json::object>& scenarios() {
    static const std::vector<boost::json::object> all = [] {
        std::ifstream file = open("scenarios.ndjson");
        std::vector<boost::json::object> read;
        for (std::string line; std::getline(file, line);)
            if (!line.empty()) read.push_back(boost::json::parse(line).as_object());
        return read;
    }();
    return all;
}

const boost::json::object& scenario(std::string_view id) {
    for (const boost::json::object& each : scenarios())
        if (std::string_view(each.at("id").as_string()) == id) return each;
    throw std::out_of_range("there is no recorded scenario " + std::string(id));
}

}  // namespace recorded
