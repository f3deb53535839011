// NOT WITH: sanitize
// Checks that each room includes files of those rooms that its CMakeLists.txt names with USES, and of no others.
// CMake itself refuses rooms that use each other.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/support/rooms.hpp"

namespace {

namespace fs = std::filesystem;
using rooms_said::project;
using rooms_said::Room;
using rooms_said::rooms;

/// One room uses another.
using Arrow = std::pair<std::string, std::string>;

/// The room of a file: that whose HEADERS names it, or whose folder is the innermost one around it. Other public
/// headers are the core's.
std::string roomOf(const fs::path& file) {
    const std::string path = file.generic_string();
    std::string best;
    std::size_t length = 0;
    for (const Room& room : rooms()) {
        for (const std::string& header : room.headers)
            if (path == "include/stategraph/" + header + ".hpp") return room.name;
        for (const std::string& folder : {room.folder + "/", "include/stategraph/" + room.folder + "/"}) {
            if (!path.starts_with(folder) || folder.size() <= length) continue;
            length = folder.size();
            best = room.name;
        }
    }
    return best.empty() && path.starts_with("include/") ? "core" : best;
}

/// The path, within the project, of the file that an #include in `from` names; empty if the file is not part of the
/// project.
fs::path includedFile(const std::string& line, const fs::path& from) {
    const std::string before = "#include ";
    if (!line.starts_with(before) || line.size() < before.size() + 2) return {};
    const char closing = line[before.size()] == '<' ? '>' : '"';
    const std::string name = line.substr(before.size() + 1, line.find(closing, before.size() + 1) - before.size() - 1);
    for (const fs::path& path : {fs::path("include") / name, fs::path(name), from.parent_path() / name}) {
        if (fs::exists(project() / path)) return path.lexically_normal();
    }
    return {};
}

/// Maps each arrow to the first include that causes it. Public headers of the core may be included by all.
std::map<Arrow, std::string> arrowsOfTheCode() {
    std::set<std::string> tops{"include"};
    for (const Room& room : rooms()) tops.insert(room.folder.substr(0, room.folder.find('/')));
    std::map<Arrow, std::string> arrows;
    for (const std::string& top : tops) {
        for (const auto& entry : fs::recursive_directory_iterator(project() / top)) {
            if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
            const fs::path file = fs::relative(entry.path(), project());
            if (file == "src/precompiled.hpp") continue;  // is no part of a room
            std::ifstream text(entry.path());
            for (std::string line; std::getline(text, line);) {
                const fs::path included = includedFile(line, file);
                if (included.empty()) continue;
                const Arrow arrow{roomOf(file), roomOf(included)};
                if (arrow.first == arrow.second || arrow.second == "core") continue;
                arrows.try_emplace(arrow, file.generic_string() + " includes " + included.generic_string());
            }
        }
    }
    return arrows;
}

TEST_CASE("rooms include files of those rooms that they say they use, and of no others") {
    const auto code = arrowsOfTheCode();
    REQUIRE(rooms().size() > 30);
    REQUIRE(code.size() > 50);
    std::set<Arrow> said;
    for (const Room& room : rooms())
        for (const std::string& used : room.uses) said.emplace(room.name, used);
    for (const auto& [arrow, example] : code) {
        INFO(example << "; the CMakeLists.txt of " << arrow.first << " does not say USES " << arrow.second);
        CHECK(said.contains(arrow));
    }
    for (const Arrow& arrow : said) {
        INFO("the CMakeLists.txt of " << arrow.first << " says USES " << arrow.second << ", and no file includes so");
        CHECK(code.contains(arrow));
    }
}

}  // namespace
