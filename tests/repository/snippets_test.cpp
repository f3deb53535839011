// NOT WITH: sanitize
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/documents.hpp"

// The code in the documents is that of files which the tests build and run, and the output is what they print.
//
// A comment of a document binds the block after it:
//     <!-- from examples/how_to/retry.cpp: policy -->   the region `policy` of that file
//     <!-- from examples/how_to/retry.cpp -->           the whole file, from its first #include on
//     <!-- lines of examples/expected/first.txt -->     some consecutive lines of that file
// A region is what is between the lines `// [begin policy]` and `// [end policy]` (or with # for //), without its
// indentation. A file may have several pieces of it, which follow each other, with a blank line where one begins with
// it. A line of the file that begins with "~ " is a regular expression for the document's line.
// STATEGRAPH_UPDATE_GOLDEN=1 in the environment writes the regions and whole files into the documents.

namespace snippets {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

const fs::path home = fs::path(STATEGRAPH_TESTS_DIR).parent_path();

Lines linesOf(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    REQUIRE_MESSAGE(in, "no file " << file.string());
    Lines lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// The text of a line that begins or ends a region: "begin NAME" or "end NAME".
std::optional<std::string> markOf(const std::string& line) {
    static const std::regex mark(R"re(\s*(?://|#) \[((?:begin|end) [\w ]+)\]\s*)re");
    std::smatch match;
    if (!std::regex_match(line, match, mark)) return std::nullopt;
    return match[1];
}

Lines trimmed(Lines lines) {
    std::size_t indent = std::string::npos;
    for (const std::string& line : lines) indent = std::min(indent, line.find_first_not_of(' '));
    for (std::string& line : lines) line.erase(0, std::min(indent, line.size()));
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    while (!lines.empty() && lines.front().empty()) lines.erase(lines.begin());
    return lines;
}

/// The pieces of a region, one after another. Empty if the file has no such region or the region does not end.
Lines region(const Lines& file, const std::string& name) {
    Lines found;
    Lines piece;
    bool is_inside = false;
    for (const std::string& line : file) {
        const auto mark = markOf(line);
        if (mark == "begin " + name) {
            is_inside = true;
            piece.clear();
        } else if (mark == "end " + name) {
            is_inside = false;
            const bool begins_apart = !found.empty() && !piece.empty() && piece.front().empty();
            const Lines lines = trimmed(piece);
            if (begins_apart) found.emplace_back();
            found.insert(found.end(), lines.begin(), lines.end());
        } else if (is_inside && !mark) {
            piece.push_back(line);
        }
    }
    return is_inside ? Lines{} : found;
}

/// The file without marks, and for a program without its first comment.
Lines whole(const Lines& file) {
    const auto include =
        std::find_if(file.begin(), file.end(), [](const auto& line) { return line.starts_with("#include"); });
    Lines found;
    std::copy_if(include == file.end() ? file.begin() : include, file.end(), std::back_inserter(found),
                 [](const std::string& line) { return !markOf(line); });
    return trimmed(found);
}

bool isSame(const std::string& wanted, const std::string& shown) {
    if (wanted.starts_with("~ ")) return std::regex_match(shown, std::regex(wanted.substr(2)));
    return wanted == shown;
}
bool isSame(const Lines& wanted, const Lines& shown) {
    return std::equal(wanted.begin(), wanted.end(), shown.begin(), shown.end(),
                      [](const auto& a, const auto& b) { return isSame(a, b); });
}

/// The source of a block's lines.
struct Binding {
    std::string file;
    std::string name = {};  // the name of a region; empty: the whole file
    bool is_part = false;   // the block shows some of the lines
};

std::optional<Binding> bindingOf(const std::string& line) {
    static const std::regex binding(R"re(<!-- (from|lines of) ([^\s:]+)(?:: ([\w ]+))? -->)re");
    std::smatch match;
    if (!std::regex_match(line, match, binding)) return std::nullopt;
    return Binding{.file = match[2], .name = match[3], .is_part = match[1] == "lines of"};
}

/// The lines that a block must have; for "lines of", the lines among which its own must be.
Lines wantedOf(const Binding& binding) {
    const Lines file = linesOf(home / binding.file);
    return binding.name.empty() ? whole(file) : region(file, binding.name);
}

bool holds(const Binding& binding, const Lines& shown) {
    const Lines wanted = wantedOf(binding);
    if (wanted.empty() || shown.empty()) return false;
    if (!binding.is_part) return isSame(wanted, shown);
    for (std::size_t i = 0; i + shown.size() <= wanted.size(); ++i) {
        const auto at = wanted.begin() + static_cast<std::ptrdiff_t>(i);
        if (isSame(Lines(at, at + static_cast<std::ptrdiff_t>(shown.size())), shown)) return true;
    }
    return false;
}

struct Block {
    std::string language;
    std::optional<Binding> binding;
    std::size_t begin = 0;  // the block's first line in the page
    std::size_t end = 0;    // the line that closes the block
};

std::vector<Block> blocksOf(const Lines& page) {
    std::vector<Block> blocks;
    bool is_open = false;
    for (std::size_t i = 0; i < page.size(); ++i) {
        if (!page[i].starts_with("```")) continue;
        if (is_open) {
            blocks.back().end = i;
        } else {
            blocks.push_back({.language = page[i].substr(3),
                              .binding = i > 0 ? bindingOf(page[i - 1]) : std::nullopt,
                              .begin = i + 1});
        }
        is_open = !is_open;
    }
    REQUIRE_MESSAGE(!is_open, "a block of the page does not end");
    return blocks;
}

/// The documents by their paths from the repository's root.
std::map<std::string, fs::path> pages() {
    std::map<std::string, fs::path> all{{"README.md", home / "README.md"}};
    for (const auto& entry : fs::recursive_directory_iterator(home / "docs")) {
        if (entry.path().extension() == ".md")
            all.emplace(fs::relative(entry.path(), home).generic_string(), entry.path());
    }
    return all;
}

bool isUpdating() {
    const char* const update = std::getenv("STATEGRAPH_UPDATE_GOLDEN");
    return update != nullptr && *update != '\0';
}

/// Writes the required lines into the blocks of the page.
void update(const fs::path& file) {
    Lines page = linesOf(file);
    std::vector<Block> blocks = blocksOf(page);
    std::reverse(blocks.begin(), blocks.end());  // from the last block to the first, so that line numbers stay valid
    for (const Block& block : blocks) {
        const auto begin = page.begin() + static_cast<std::ptrdiff_t>(block.begin);
        const auto end = page.begin() + static_cast<std::ptrdiff_t>(block.end);
        if (!block.binding || block.binding->is_part || holds(*block.binding, Lines(begin, end))) continue;
        Lines wanted = wantedOf(*block.binding);
        for (std::string& line : wanted) {  // a line that matches a regular expression stays as it is
            const auto shown = std::find_if(begin, end, [&](const auto& old) { return isSame(line, old); });
            if (shown != end) line = *shown;
        }
        page.insert(page.erase(begin, end), wanted.begin(), wanted.end());
    }
    std::ofstream out(file, std::ios::binary);
    for (const std::string& line : page) out << line << '\n';
}

}  // namespace snippets

TEST_CASE("the blocks of the documents that are bound to a file have its lines") {
    int bound = 0;
    for (const auto& [name, file] : snippets::pages()) {
        CAPTURE(name);
        if (snippets::isUpdating()) snippets::update(file);
        const snippets::Lines page = snippets::linesOf(file);
        for (const auto& block : snippets::blocksOf(page)) {
            if (!block.binding) continue;
            ++bound;
            CAPTURE(block.binding->file);
            CAPTURE(block.binding->name);
            const auto at = page.begin();
            const snippets::Lines shown(at + static_cast<std::ptrdiff_t>(block.begin),
                                        at + static_cast<std::ptrdiff_t>(block.end));
            CHECK_MESSAGE(snippets::holds(*block.binding, shown),
                          "the block at line " << block.begin << " is not what the file has; write it anew with "
                                               << "STATEGRAPH_UPDATE_GOLDEN=1, after reading the difference");
        }
    }
    CHECK(bound > 3);
}

TEST_CASE("every binding is directly before a block") {
    for (const auto& [name, file] : snippets::pages()) {
        const snippets::Lines page = snippets::linesOf(file);
        bool is_block = false;
        for (std::size_t i = 0; i < page.size(); ++i) {
            if (page[i].starts_with("```")) is_block = !is_block;
            if (is_block || !page[i].starts_with("<!-- ") || documents::bindsTable(page[i])) continue;
            CAPTURE(name);
            CAPTURE(page[i]);
            CHECK((i + 1 < page.size() && page[i + 1].starts_with("```") && snippets::bindingOf(page[i])));
        }
    }
}

TEST_CASE("every block of C++ is bound to a file that is built") {
    for (const auto& [name, file] : snippets::pages()) {
        CAPTURE(name);
        for (const auto& block : snippets::blocksOf(snippets::linesOf(file))) {
            if (block.language != "cpp") continue;
            CAPTURE(block.begin);
            CHECK_MESSAGE(block.binding, "write the code into a program that the tests build, such as "
                                             << "examples/pages/NAME.cpp, and bind the block with a comment before it: "
                                             << "<!-- from examples/pages/NAME.cpp: REGION -->");
        }
    }
}

TEST_CASE("tutorials and how-tos show only output that a test has seen") {
    for (const auto& [name, file] : snippets::pages()) {
        if (!name.starts_with("docs/tutorials/") && !name.starts_with("docs/how_to/")) continue;
        CAPTURE(name);
        for (const auto& block : snippets::blocksOf(snippets::linesOf(file))) {
            // A drawing, or commands that a reader types.
            if (block.language == "mermaid" || block.language == "sh") continue;
            CAPTURE(block.begin);
            CHECK(block.binding.has_value());
        }
    }
}

TEST_CASE("a block that is not what its file has is found") {
    const snippets::Lines file{"#include <a>",
                               "int f() {",
                               "    // [begin body]",
                               "    int x = 1;",
                               "    // [begin end of it]",
                               "      return x;",
                               "    // [end end of it]",
                               "    // [end body]",
                               "}",
                               "// [begin open]",
                               "int y;"};
    CHECK(snippets::region(file, "body") == snippets::Lines{"int x = 1;", "  return x;"});
    CHECK(snippets::region(file, "end of it") == snippets::Lines{"return x;"});
    CHECK(snippets::region(file, "other").empty());
    CHECK(snippets::region(file, "open").empty());  // the region does not end
    const snippets::Lines pieces{"// [begin a]", "x", "// [end a]", "z", "  // [begin a]", "", "  y", "  // [end a]"};
    CHECK(snippets::region(pieces, "a") == snippets::Lines{"x", "", "y"});
    CHECK(snippets::whole(file).size() == 6);
    CHECK(snippets::isSame(snippets::Lines{"a", "~ b[0-9]+"}, snippets::Lines{"a", "b12"}));
    CHECK(!snippets::isSame(snippets::Lines{"a", "~ b[0-9]+"}, snippets::Lines{"a", "b"}));
    CHECK(!snippets::isSame(snippets::Lines{"a"}, snippets::Lines{"a", "b"}));
    CHECK(snippets::bindingOf("<!-- from a.cpp: x -->")->name == "x");
    CHECK(!snippets::bindingOf("<!-- form a.cpp: x -->"));
    const snippets::Binding part{.file = "examples/expected/first.txt", .is_part = true};
    CHECK(snippets::holds(part, {"interrupted: \"Book it?\""}));
    CHECK(!snippets::holds(part, {"interrupted: \"Book them?\""}));
    CHECK(!snippets::holds(part, {}));
}
