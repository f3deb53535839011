// NOT WITH: sanitize
// packaging/ names options, folders and the version of the project, all of which must exist.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/version.hpp>

#include "tests/support/rooms.hpp"

namespace {

namespace fs = std::filesystem;

fs::path inProject(const std::string& path) { return fs::path(STATEGRAPH_TESTS_DIR).parent_path() / path; }

std::string readSource(const std::string& path) {
    std::ifstream file(inProject(path));
    REQUIRE(file);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> namesIn(const std::string& text, const std::string& pattern) {
    const std::regex wanted(pattern);
    std::set<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), wanted); at != std::sregex_iterator(); ++at)
        names.insert((*at)[1].str());
    return names;
}

std::string inCapitals(std::string name) {
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

}  // namespace

TEST_CASE("packages name options that the build has") {
    std::set<std::string> known;
    for (const auto& name : namesIn(readSource("CMakeLists.txt"), R"((?:option|set)\((STATEGRAPH_\w+))"))
        known.insert(name);
    for (const rooms_said::Room& room : rooms_said::rooms()) {
        if (room.is_component) known.insert("STATEGRAPH_WITH_" + inCapitals(room.name));
    }
    REQUIRE(known.count("STATEGRAPH_WITH_ROCKSDB") == 1);
    for (const char* file : {"packaging/debian/rules", "packaging/vcpkg/portfile.cmake"}) {
        const auto options = namesIn(readSource(file), R"((STATEGRAPH_(?:WITH|BUILD)_\w+))");
        CHECK(options.size() >= 4);
        for (const auto& option : options) {
            CAPTURE(file);
            CAPTURE(option);
            CHECK(known.count(option) == 1);
        }
    }
}

TEST_CASE("each package that a room needs is a feature of the port, or the port leaves the room out") {
    const std::string port = readSource("packaging/vcpkg/portfile.cmake");
    for (const rooms_said::Room& room : rooms_said::rooms()) {
        if (room.needs.empty()) continue;
        CAPTURE(room.name);
        const std::string option = "STATEGRAPH_WITH_" + inCapitals(room.name);
        // A room that uses such a room is left out with it.
        bool is_named = port.find(option) != std::string::npos;
        for (const rooms_said::Room& used : rooms_said::rooms())
            for (const std::string& name : room.uses)
                is_named |= used.name == name && port.find("STATEGRAPH_WITH_" + inCapitals(name)) != std::string::npos;
        CHECK(is_named);
    }
}

TEST_CASE("packages have the version of the library") {
    const std::string version = std::to_string(STATEGRAPH_VERSION_MAJOR) + "." +
                                std::to_string(STATEGRAPH_VERSION_MINOR) + "." +
                                std::to_string(STATEGRAPH_VERSION_PATCH);
    const auto port = boost::json::parse(readSource("packaging/vcpkg/vcpkg.json"));
    CHECK(port.at("version").as_string() == version);
}
