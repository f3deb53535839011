#include "tests/support/documents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <string_view>

#include "tests/support/markdown.hpp"

namespace documents {
namespace {

void countWords(std::string_view code, std::map<std::string, int>& words) {
    std::string word;
    for (std::size_t i = 0; i <= code.size(); ++i) {
        const bool is_word =
            i < code.size() && (std::isalnum(static_cast<unsigned char>(code[i])) != 0 || code[i] == '_');
        if (is_word) {
            word.push_back(code[i]);
        } else if (!word.empty()) {
            ++words[word];
            word.clear();
        }
    }
}

/// Counts the words between backticks.
void countCode(std::string_view line, std::map<std::string, int>& words) {
    for (std::size_t at = line.find('`'); at != std::string_view::npos; at = line.find('`', at)) {
        const std::size_t end = line.find('`', at + 1);
        if (end == std::string_view::npos) return;
        countWords(line.substr(at + 1, end - at - 1), words);
        at = end + 1;
    }
}

std::set<std::string> headersIn(const std::string& binding) {
    static const std::regex header(R"re([\w/]+\.hpp)re");
    std::set<std::string> headers;
    for (std::sregex_iterator it(binding.begin(), binding.end(), header), end; it != end; ++it)
        headers.insert(it->str());
    return headers;
}

Page pageOf(const std::filesystem::path& file, const std::string& path) {
    Page page{.path = path, .title = path, .sections = {{}}};
    bool is_block = false;
    bool is_generated = false;
    for (const std::string& line : linesOf(file)) {
        if (bindsTable(line)) page.headers.merge(headersIn(line));
        is_generated = bindsTable(line) || (is_generated && line.starts_with("|"));
        if (line.starts_with("```")) {
            is_block = !is_block;
        } else if (!is_block && line.starts_with("#")) {
            const std::string heading = line.substr(std::min(line.find(' ') + 1, line.size()));
            if (page.title == path) page.title = heading;
            page.sections.push_back({.heading = heading, .anchor = markdown::anchorOf(heading)});
        }
        Section& section = page.sections.back();
        if (is_block) {
            countWords(line, section.words);
        } else {
            countCode(line, is_generated ? section.generated : section.words);
        }
    }
    return page;
}

}  // namespace

const std::filesystem::path& home() {
    static const std::filesystem::path path = std::filesystem::path(STATEGRAPH_TESTS_DIR).parent_path();
    return path;
}

Lines linesOf(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    REQUIRE_MESSAGE(in, "no file " << file.string());
    Lines lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

void write(const std::filesystem::path& file, const Lines& lines) {
    std::ofstream out(file, std::ios::binary);
    for (const std::string& line : lines) out << line << '\n';
}

bool isUpdating() {
    const char* const update = std::getenv("STATEGRAPH_UPDATE_GOLDEN");
    return update != nullptr && *update != '\0';
}

bool Page::has(const std::string& word) const {
    return std::any_of(sections.begin(), sections.end(), [&](const Section& section) { return section.has(word); });
}

std::vector<Page> pages() {
    static const std::set<std::string> others{"README.md", "questions.md", "index_of_names.md", "status.md",
                                              "architecture.md"};
    std::vector<Page> all;
    const auto docs = home() / "docs";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(docs)) {
        const std::string path = entry.path().lexically_relative(docs).generic_string();
        if (entry.path().extension() == ".md" && !others.contains(path)) all.push_back(pageOf(entry.path(), path));
    }
    std::sort(all.begin(), all.end(), [](const Page& a, const Page& b) { return a.path < b.path; });
    return all;
}

bool bindsTable(const std::string& line) {
    return line.starts_with("<!-- names of ") || line.starts_with("<!-- options of ") ||
           line.starts_with("<!-- headers: ");
}

}  // namespace documents
