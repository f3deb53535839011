#include "tests/conformance/scenario.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace conformance {
namespace {

namespace fs = std::filesystem;

json::object parse(const std::string& source, const std::string& where) {
    json::error_code error;
    const json::value parsed = json::parse(source, error);
    if (error || !parsed.is_object()) throw std::runtime_error(where + " is not a scenario: " + error.message());
    return parsed.get_object();
}

void readLines(std::istream& file, const fs::path& path, std::vector<json::object>& into) {
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        into.push_back(parse(line, path.string() + ":" + std::to_string(number)));
    }
}

void read(const fs::path& path, std::vector<json::object>& into) {
    if (fs::is_directory(path)) {
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator(path)) {
            if (entry.path().extension() == ".json") files.push_back(entry.path());
        }
        std::sort(files.begin(), files.end());
        for (const auto& file : files) read(file, into);
        return;
    }
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    if (path.extension() == ".ndjson") {
        readLines(file, path, into);
        return;
    }
    std::ostringstream all;
    all << file.rdbuf();
    into.push_back(parse(all.str(), path.string()));
}

}  // namespace

Part parsePart(const std::string& text) {
    Part part;
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data(), end, part.number);
    if (number.ec == std::errc() && number.ptr != end && *number.ptr == '/') {
        const auto of = std::from_chars(number.ptr + 1, end, part.of);
        if (of.ec == std::errc() && of.ptr == end && part.number < part.of) return part;
    }
    throw std::invalid_argument("a part must be N/OF, such as 0/5, with N less than OF, and is '" + text + "'");
}

std::vector<json::object> readScenarios(const std::vector<std::string>& paths, Part part) {
    std::vector<json::object> all;
    for (const auto& path : paths) read(path, all);
    std::vector<json::object> wanted;
    for (std::size_t i = part.number; i < all.size(); i += part.of) wanted.push_back(std::move(all[i]));
    return wanted;
}

const json::value& get(const json::object& object, std::string_view key) {
    static const json::value null;
    const json::value* found = object.if_contains(key);
    return found != nullptr ? *found : null;
}

std::string text(const json::value& value) { return std::string(value.as_string()); }

std::vector<std::string> names(const json::value& list) {
    std::vector<std::string> found;
    if (list.is_array()) {
        for (const json::value& name : list.get_array()) found.push_back(text(name));
    }
    return found;
}

std::optional<std::int64_t> asInteger(const json::value& value) {
    if (value.is_int64()) return value.get_int64();
    if (value.is_uint64()) {
        const std::uint64_t number = value.get_uint64();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
        return static_cast<std::int64_t>(number);
    }
    if (!value.is_double()) return std::nullopt;
    const double number = value.get_double();
    if (std::floor(number) != number || std::fabs(number) >= 9e15) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

json::value canonical(const json::value& value) {
    if (const json::object* object = value.if_object()) {
        std::vector<std::string> keys;
        for (const auto& entry : *object) keys.emplace_back(entry.key());
        std::sort(keys.begin(), keys.end());
        json::object sorted;
        for (const auto& key : keys) sorted.emplace(key, canonical(object->at(key)));
        return sorted;
    }
    if (const json::array* array = value.if_array()) {
        json::array items;
        for (const json::value& item : *array) items.push_back(canonical(item));
        return items;
    }
    const auto integer = asInteger(value);
    return integer ? json::value(*integer) : value;
}

}  // namespace conformance
