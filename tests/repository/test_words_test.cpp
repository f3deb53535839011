// NOT WITH: sanitize
// Rules of tests that can be seen in their text.
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sourcesOfTests() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(STATEGRAPH_TESTS_DIR)) {
        if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp") files.push_back(entry.path());
    }
    REQUIRE(files.size() > 400);
    return files;
}

std::vector<std::string> linesOf(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE("a test that sleeps says why, and few do") {
    const std::regex sleep(R"(this_thread::sleep_(for|until)\(|\busleep\()");
    std::size_t sleeps = 0;
    for (const fs::path& path : sourcesOfTests()) {
        if (path.filename() == "test_words_test.cpp" || path.filename() == "until.hpp") continue;
        if (path.parent_path().filename() == "compile_fail") continue;  // runs nothing
        if (path.parent_path().filename() == "failover") continue;      // is a trial of servers that die, and no test
        const std::vector<std::string> lines = linesOf(path);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (!std::regex_search(lines[i], sleep)) continue;
            ++sleeps;
            const bool is_explained = lines[i].find("// sleeps: ") != std::string::npos ||
                                      (i > 0 && lines[i - 1].find("// sleeps: ") != std::string::npos);
            INFO(path.string() << ":" << i + 1
                               << " sleeps. Wait for an event, for a condition (tests/support/until.hpp) or with a "
                                  "clock of your own; or say '// sleeps: ' and why.");
            CHECK(is_explained);
        }
    }
    // Replace a sleep by an event and lower this number; it is not to be raised.
    CHECK(sleeps <= 99);
    CHECK(sleeps > 50);  // they are still found
}

TEST_CASE("a test that a sanitizer weakens also runs without one") {
    const std::regex weakened("failing_new::available|STATEGRAPH_WITH_ASAN");
    const std::regex runs_plainly("^// (ALSO PLAIN: |NOT WITH: sanitize$)");
    std::size_t found = 0;
    for (const fs::path& path : sourcesOfTests()) {
        if (!path.filename().string().ends_with("_test.cpp") || path.filename() == "test_words_test.cpp") continue;
        bool is_weakened = false;
        bool is_plain = false;
        for (const std::string& line : linesOf(path)) {
            is_weakened |= std::regex_search(line, weakened);
            is_plain |= std::regex_search(line, runs_plainly);
        }
        if (!is_weakened) continue;
        ++found;
        INFO(path.string() << " does less with a sanitizer; say '// ALSO PLAIN: ' and why in its first lines.");
        CHECK(is_plain);
    }
    CHECK(found > 10);
}
