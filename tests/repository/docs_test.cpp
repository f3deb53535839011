// NOT WITH: sanitize
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// The tables of the documents that name tests for their statements name tests that exist.

namespace {

namespace fs = std::filesystem;

const fs::path root = fs::path(STATEGRAPH_TESTS_DIR).parent_path();

std::string textOf(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    REQUIRE_MESSAGE(in, "no file " << file.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the file, or folder, that a row means. Names of tests are written without their ending.
fs::path found(const std::string& name) {
    for (const char* ending : {"", ".cpp"}) {
        if (fs::exists(root / (name + ending))) return root / (name + ending);
    }
    return {};
}

/// Returns the names of a file's test cases, after joining the pieces into which the formatter has cut them.
std::vector<std::string> casesOf(const fs::path& file) {
    static const std::regex name(R"re(TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\))re");
    static const std::regex seam(R"re("\s*")re");
    const std::string text = textOf(file);
    std::vector<std::string> cases;
    for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
        const std::string quoted = std::regex_replace((*it)[1].str(), seam, "");
        cases.push_back(quoted.substr(1, quoted.find_last_of('"') - 1));
    }
    return cases;
}

bool hasCase(const fs::path& file, const std::string& beginning) {
    if (fs::is_directory(file)) return false;
    if (!file.string().ends_with("_test.cpp")) return textOf(file).find(beginning) != std::string::npos;
    for (const std::string& name : casesOf(file)) {
        if (name.starts_with(beginning)) return true;
    }
    return false;
}

/// Returns what is wrong with a row's last cell: each path in it must exist, and each quoted text must belong to the
/// path before it.
std::vector<std::string> faultsOf(const std::string& cell) {
    static const std::regex part(R"re(((?:tests|examples|benchmarks|inspect)/[\w./]*\w)|"([^"]+)")re");
    std::vector<std::string> faults;
    fs::path file;
    bool has_file = false;
    for (std::sregex_iterator it(cell.begin(), cell.end(), part), end; it != end; ++it) {
        if ((*it)[1].matched) {
            has_file = true;
            file = found((*it)[1]);
            if (file.empty()) faults.push_back("there is no " + (*it)[1].str());
        } else if (file.empty() || !hasCase(file, (*it)[2])) {
            faults.push_back("'" + file.string() + "' has no test case that begins with: " + (*it)[2].str());
        }
    }
    if (!has_file) faults.emplace_back("it names no file");
    return faults;
}

}  // namespace

TEST_CASE("the rows of agents' rules name files and test cases that exist") {
    const std::string page = textOf(root / "docs/agent_rules.md");
    static const std::regex row(R"re(\n\| ([^|\n]+) \| ([^|\n]+) \|(?=\n))re");
    std::set<std::string> rules;
    for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it) {
        if ((*it)[2] == "tests") continue;
        CAPTURE((*it)[1].str());
        CHECK(rules.insert((*it)[1]).second);
        for (const std::string& fault : faultsOf((*it)[2])) FAIL_CHECK(fault);
    }
    CHECK(rules.size() >= 60);
}

TEST_CASE("the rows of the inspector's features name files and test cases that exist") {
    const std::string page = textOf(root / "docs/inspector_features.md");
    static const std::regex row(R"re(\n\| ([^|\n]+) \| ([^|\n]+) \| ([^|\n]+) \|(?=\n))re");
    int rows = 0;
    for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it) {
        if ((*it)[1] == "feature" || (*it)[1] == "---") continue;
        ++rows;
        CAPTURE((*it)[1].str());
        for (const std::string& fault : faultsOf((*it)[3])) FAIL_CHECK(fault);
    }
    CHECK(rows >= 22);
}

TEST_CASE("a row with a wrong name is found") {
    const auto count = [](const std::string& cell) { return faultsOf(cell).size(); };
    CHECK(count("tests/repository/docs_test \"a row with a wrong name\"") == 0);
    CHECK(count("tests/repository/docs_test.cpp") == 0);
    CHECK(count("tests/no_such_test") == 1);
    CHECK(count("tests/repository/docs_test \"no such case\"") == 1);
    CHECK(count("tests/repository/docs_test \"row with a wrong name is found\"") == 1);  // not its beginning
    CHECK(count("tests/history \"a case in a folder\"") == 1);
    CHECK(count("the same") == 1);
}

TEST_CASE("the tests that the rules of semantics and workflows name exist") {
    static const std::regex test(R"re([^\w/]((?:[a-z_]+/)+[a-z_]+_test)\b)re");
    int tests = 0;
    for (const char* page : {"docs/semantics.md", "docs/workflow_rules.md"}) {
        CAPTURE(page);
        const std::string text = textOf(root / page);
        for (std::sregex_iterator it(text.begin(), text.end(), test), end; it != end; ++it) {
            const std::string name = (*it)[1];
            ++tests;
            CHECK_MESSAGE(!found(name.starts_with("tests/") ? name : "tests/" + name).empty(), "there is no " << name);
        }
    }
    CHECK(tests > 100);
}
