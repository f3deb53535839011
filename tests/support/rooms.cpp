#include "tests/support/rooms.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace rooms_said {
namespace {

namespace fs = std::filesystem;

/// The words after a keyword of the call, up to the next one, which has capitals.
std::vector<std::string> wordsAfter(const std::string& call, const std::string& keyword) {
    std::istringstream text(call);
    std::vector<std::string> words;
    bool is_inside = false;
    for (std::string word; text >> word;) {
        const bool is_lower = std::none_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
        if (is_inside && is_lower) words.push_back(word);
        if (!is_lower) is_inside = word == keyword;
    }
    return words;
}

std::vector<Room> findRooms() {
    std::vector<Room> rooms;
    const std::regex call(R"(stategraph_room\(\s*(\w+)([^)]*)\))");
    for (const fs::directory_entry& top : fs::directory_iterator(project())) {
        const std::string name = top.path().filename().string();
        if (!top.is_directory() || name == "build" || name.starts_with(".")) continue;
        for (auto at = fs::recursive_directory_iterator(top); at != fs::recursive_directory_iterator(); ++at) {
            if (at->path().filename() == "node_modules") at.disable_recursion_pending();
            if (at->path().filename() != "CMakeLists.txt") continue;
            std::ifstream file(at->path());
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            std::smatch found;
            if (!std::regex_search(text, found, call)) continue;
            const std::string said = found[2];
            Room room{.name = found[1],
                      .folder = fs::relative(at->path().parent_path(), project()).generic_string(),
                      .uses = wordsAfter(said, "USES"),
                      .headers = wordsAfter(said, "HEADERS")};
            for (const std::string& each : wordsAfter(said, "NEEDS")) room.needs = each;
            room.is_component = room.name != "core" && said.find("PART_OF") == std::string::npos &&
                                said.find("BUNDLED") == std::string::npos;
            for (std::string& each : wordsAfter(said, "USES_IF_BUILT")) room.uses.push_back(std::move(each));
            rooms.push_back(std::move(room));
        }
    }
    return rooms;
}

}  // namespace

const std::filesystem::path& project() {
    static const fs::path path = fs::path(STATEGRAPH_TESTS_DIR).parent_path();
    return path;
}

const std::vector<Room>& rooms() {
    static const std::vector<Room> found = findRooms();
    return found;
}

}  // namespace rooms_said
