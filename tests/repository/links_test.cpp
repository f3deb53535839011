// NOT WITH: sanitize
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/markdown.hpp"

// The links of the documents lead somewhere, and every page can be found from their index.

namespace doc_links {

namespace fs = std::filesystem;

const fs::path home = fs::weakly_canonical(fs::path(STATEGRAPH_TESTS_DIR).parent_path());

std::string readAll(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    REQUIRE_MESSAGE(in, "no file " << file.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> documents() {
    std::vector<fs::path> all;
    for (const char* name : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md"})
        all.push_back(home / name);
    for (const auto& entry : fs::recursive_directory_iterator(home / "docs")) {
        if (entry.path().extension() == ".md") all.push_back(entry.path());
    }
    return all;
}

/// Returns the text without its blocks and pieces of code, which have brackets of their own.
std::string withoutCode(const std::string& text) {
    std::string prose;
    bool is_block = false;
    bool is_code = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool begins_line = i == 0 || text[i - 1] == '\n';
        if (begins_line && text.compare(i, 3, "```") == 0) {
            is_block = !is_block;
            is_code = false;
            i = std::min(text.find('\n', i), text.size() - 1);
        } else if (!is_block && text[i] == '`') {
            is_code = !is_code;
        } else if (text[i] == '\n') {
            is_code = false;
        }
        if (!is_block && !is_code && text[i] != '`') prose.push_back(text[i]);
    }
    return prose;
}

/// Returns the targets of a page's links.
std::vector<std::string> linksOf(const fs::path& file) {
    const std::string prose = withoutCode(readAll(file));
    std::vector<std::string> links;
    for (std::size_t at = prose.find("]("); at != std::string::npos; at = prose.find("](", at + 1)) {
        const std::size_t end = prose.find(')', at);
        if (end != std::string::npos) links.push_back(prose.substr(at + 2, end - at - 2));
    }
    return links;
}

/// Returns the anchors of all headings; a second heading with the same name ends with "-1".
std::set<std::string> anchorsOf(const fs::path& file) {
    std::set<std::string> anchors;
    std::map<std::string, int> times;
    const std::string text = readAll(file);
    bool is_block = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        at = end + 1;
        if (line.starts_with("```")) is_block = !is_block;
        if (is_block || !line.starts_with("#")) continue;
        const std::string anchor =
            markdown::anchorOf(std::string_view(line).substr(std::min(line.find(' ') + 1, line.size())));
        const int before = times[anchor]++;
        anchors.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
    }
    return anchors;
}

/// Returns an empty text if the link leads somewhere, or to another host.
std::string faultOf(const fs::path& file, const std::string& link) {
    if (link.find("://") != std::string::npos || link.starts_with("mailto:")) return {};
    const std::size_t hash = std::min(link.find('#'), link.size());
    const fs::path target = hash == 0 ? file : file.parent_path() / link.substr(0, hash);
    if (!fs::exists(target)) return "there is no such file";
    if (hash == link.size() || target.extension() != ".md") return {};
    return anchorsOf(target).contains(link.substr(hash + 1)) ? "" : "the page has no such heading";
}

}  // namespace doc_links

TEST_CASE("every link of the documents leads to a file, and to a heading where it names one") {
    std::size_t links = 0;
    for (const auto& file : doc_links::documents()) {
        for (const std::string& link : doc_links::linksOf(file)) {
            CAPTURE(file);
            CAPTURE(link);
            CHECK(doc_links::faultOf(file, link) == "");
            ++links;
        }
    }
    CHECK(links > 200);
}

TEST_CASE("every page is in the index of the documents") {
    std::set<std::string> linked;
    const auto docs = doc_links::home / "docs";
    for (const std::string& link : doc_links::linksOf(docs / "README.md")) linked.insert(link);
    for (const auto& file : doc_links::documents()) {
        const std::string page = file.lexically_relative(docs).generic_string();
        if (page.starts_with("..") || page == "README.md") continue;
        CAPTURE(page);
        CHECK(linked.contains(page));
    }
}

TEST_CASE("a link that leads nowhere is found") {
    const auto page = doc_links::home / "docs" / "savers.md";
    CHECK(doc_links::faultOf(page, "no_such_page.md") != "");
    CHECK(doc_links::faultOf(page, "savers.md#no-such-heading") != "");
    CHECK(doc_links::faultOf(page, "#its-tests") == "");
    CHECK(doc_links::faultOf(page, "reliability.md") == "");
}
