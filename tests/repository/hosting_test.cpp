// NOT WITH: sanitize
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include <stategraph/version.hpp>

#include "tests/support/documents.hpp"

// What a code host reads: workflows, forms of issues, policies, the citation.

namespace hosting {

namespace fs = std::filesystem;
using documents::Lines;

const fs::path github = documents::home() / ".github";

bool has(const Lines& lines, std::string_view wanted) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
        const std::size_t begin = std::min(line.find_first_not_of(" -"), line.size());
        return std::string_view(line).substr(begin) == wanted;
    });
}

}  // namespace hosting

TEST_CASE("each workflow runs what every computer runs, in Debian 12, and may only read") {
    int workflows = 0;
    for (const auto& entry : hosting::fs::directory_iterator(hosting::github / "workflows")) {
        CAPTURE(entry.path());
        const auto lines = documents::linesOf(entry.path());
        const bool is_nightly = entry.path().stem() == "nightly";
        CHECK(hosting::has(lines, is_nightly ? "run: .ci/run --nightly" : "run: .ci/run"));
        CHECK(hosting::has(lines, "container: debian:12"));
        CHECK(hosting::has(lines, "contents: read"));
        for (const std::string& line : lines) {
            // Other commands prepare the checkout; what is built and tested is for .ci/run alone.
            for (const char* tool : {"cmake", "ctest", "make ", "scripts/"}) {
                CAPTURE(line);
                CHECK(line.find(tool) == std::string::npos);
            }
        }
        ++workflows;
    }
    CHECK(workflows == 2);
    CHECK(hosting::fs::exists(documents::home() / ".ci/run"));
}

TEST_CASE("each form of an issue has a name, a description, and fields with names of their own") {
    int forms = 0;
    for (const auto& entry : hosting::fs::directory_iterator(hosting::github / "ISSUE_TEMPLATE")) {
        if (entry.path().filename() == "config.yml") continue;
        CAPTURE(entry.path());
        const auto lines = documents::linesOf(entry.path());
        std::set<std::string> names;
        for (const char* key : {"name: ", "description: ", "body:"}) {
            const auto begins = [&](const std::string& line) { return line.starts_with(key); };
            CHECK(std::any_of(lines.begin(), lines.end(), begins));
        }
        for (const std::string& line : lines) {
            CHECK(line.find('\t') == std::string::npos);
            if (line.starts_with("    id: ")) CHECK(names.insert(line).second);
        }
        CHECK(names.size() >= 2);
        ++forms;
    }
    CHECK(forms == 3);
}

TEST_CASE("the citation has the version and the licence of the library") {
    const auto lines = documents::linesOf(documents::home() / "CITATION.cff");
    const std::string version = std::to_string(STATEGRAPH_VERSION_MAJOR) + "." +
                                std::to_string(STATEGRAPH_VERSION_MINOR) + "." +
                                std::to_string(STATEGRAPH_VERSION_PATCH);
    CHECK(hosting::has(lines, "version: " + version));
    CHECK(hosting::has(lines, "license: MIT"));
    CHECK(documents::linesOf(documents::home() / "LICENSE").at(0) == "MIT License");
}

TEST_CASE("the README's badges, if it has any, are not those of services that say nothing of this code") {
    for (const std::string& line : documents::linesOf(documents::home() / "README.md")) {
        CAPTURE(line);
        CHECK(line.find("img.shields.io") == std::string::npos);
    }
    for (const char* page : {"SECURITY.md", "CODE_OF_CONDUCT.md"})
        CHECK(documents::linesOf(documents::home() / page).size() > 5);
}
