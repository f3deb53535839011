// NOT WITH: sanitize
// Checks that the includes between folders are exactly those that docs/architecture.md lists.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;

using Arrow = std::pair<std::string, std::string>;

const fs::path& project() {
    static const fs::path path = fs::path(STATEGRAPH_TESTS_DIR).parent_path();
    return path;
}

// The path, within the project, of the file that an #include in `from` names; empty if the file is not part of the
// project.
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

// Maps each arrow to the first include that causes it.
std::map<Arrow, std::string> arrowsOfTheCode() {
    std::map<Arrow, std::string> arrows;
    for (const char* root : {"include", "src", "checkpoint", "storage", "store", "json", "async", "workflow", "schema",
                             "model", "agent", "mcp", "serve", "inspect", "worker"}) {
        if (!fs::exists(project() / root)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(project() / root)) {
            if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
            const fs::path file = fs::relative(entry.path(), project());
            std::ifstream text(entry.path());
            for (std::string line; std::getline(text, line);) {
                const fs::path included = includedFile(line, file);
                if (included.empty() || included.parent_path() == file.parent_path()) continue;
                arrows.try_emplace({file.parent_path().generic_string(), included.parent_path().generic_string()},
                                   file.generic_string() + " includes " + included.generic_string());
            }
        }
    }
    return arrows;
}

// Reads the lines "FROM: TO, TO" of the code block below the heading.
std::set<Arrow> arrowsOfTheDocument() {
    std::ifstream text(project() / "docs" / "architecture.md");
    std::set<Arrow> arrows;
    bool is_below = false;
    bool is_inside = false;
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with("## ")) is_below = line == "## Arrows between rooms";
        if (line.starts_with("```")) is_inside = is_below && !is_inside;
        const std::size_t colon = line.find(": ");
        if (!is_inside || line.starts_with("```") || colon == std::string::npos) continue;
        std::istringstream rest(line.substr(colon + 2));
        for (std::string to; rest >> to;) {
            if (to.ends_with(',')) to.pop_back();
            arrows.emplace(line.substr(0, colon), to);
        }
    }
    return arrows;
}

TEST_CASE("folders include files of those folders that the document lists, and of no others") {
    const auto code = arrowsOfTheCode();
    const auto document = arrowsOfTheDocument();
    REQUIRE(code.size() > 50);
    for (const auto& [arrow, example] : code) {
        INFO(example << "; docs/architecture.md, \"Arrows between rooms\", does not list " << arrow.first << ": "
                     << arrow.second);
        CHECK(document.contains(arrow));
    }
    for (const Arrow& arrow : document) {
        INFO("docs/architecture.md lists " << arrow.first << ": " << arrow.second << ", and no file includes so");
        CHECK(code.contains(arrow));
    }
}

// A folder of headers and the folders inside it count as one room.
std::string roomOf(const std::string& folder) {
    for (const std::string outer : {"include/stategraph/testing", "include/stategraph"}) {
        for (const char* const inner : {"/detail", "/saver_contract"}) {
            if (folder == outer + inner) return outer;
        }
    }
    return folder;
}

TEST_CASE("no folder includes files that lead back to it") {
    std::map<std::string, std::set<std::string>> below;
    for (const auto& [arrow, example] : arrowsOfTheCode()) {
        if (roomOf(arrow.first) != roomOf(arrow.second)) below[roomOf(arrow.first)].insert(roomOf(arrow.second));
    }
    // Repeatedly removes the rooms that include no other; if some remain, they form a cycle.
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (auto room = below.begin(); room != below.end();) {
            std::erase_if(room->second, [&](const std::string& each) { return !below.contains(each); });
            const bool is_free = room->second.empty();
            room = is_free ? below.erase(room) : std::next(room);
            has_changed = has_changed || is_free;
        }
    }
    for (const auto& [room, others] : below) {
        for (const std::string& other : others) MESSAGE(room << " includes files of " << other);
    }
    CHECK(below.empty());
}

TEST_CASE("public headers of the core include none of the libraries above it") {
    for (const auto& [arrow, example] : arrowsOfTheCode()) {
        if (arrow.first != "include/stategraph" && arrow.first != "include/stategraph/detail") continue;
        INFO(example);
        CHECK((arrow.second == "include/stategraph" || arrow.second == "include/stategraph/detail"));
    }
}

}  // namespace
