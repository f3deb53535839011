// NOT WITH: sanitize
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

// The messages that docs/troubleshooting.md explains are those of the library.

namespace quoted_errors {

namespace fs = std::filesystem;

const fs::path home = fs::path(STATEGRAPH_TESTS_DIR).parent_path();

std::string textOf(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    REQUIRE_MESSAGE(in, "no file " << file.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

/// All string literals of a source file, one per line. Literals that the formatter split are joined, and quotes are
/// unescaped.
std::string literalsOf(const std::string& source) {
    std::string all;
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '"') continue;
        for (++i; i < source.size() && source[i] != '"' && source[i] != '\n'; ++i) {
            if (source[i] == '\\' && i + 1 < source.size()) ++i;
            all.push_back(source[i]);
        }
        const std::size_t next = source.find_first_not_of(" \n", i + 1);
        if (next == std::string::npos || source[next] != '"') all.push_back('\n');
    }
    return all;
}

std::string allLiterals() {
    std::string all;
    for (const char* room :
         {"agent", "include", "inspect", "json", "model", "serve", "src", "storage", "worker", "workflow"}) {
        for (const auto& entry : fs::recursive_directory_iterator(home / room)) {
            const auto ending = entry.path().extension();
            if (ending == ".cpp" || ending == ".hpp") all += literalsOf(textOf(entry.path()));
        }
    }
    return all;
}

/// The parts of a message between names and numbers.
std::vector<std::string> partsOf(const std::string& message) {
    static const std::string gap = "…";
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= message.size();) {
        const std::size_t end = std::min(message.find(gap, at), message.size());
        if (end > at) parts.push_back(message.substr(at, end - at));
        at = end + gap.size();
    }
    return parts;
}

/// The first part that no literal contains; empty if all are found.
std::string missingPart(const std::string& message, const std::string& literals) {
    for (const std::string& part : partsOf(message)) {
        if (literals.find(part) == std::string::npos) return part;
    }
    return {};
}

}  // namespace quoted_errors

TEST_CASE("the messages that the page on troubleshooting explains are in the sources") {
    const std::string page = quoted_errors::textOf(quoted_errors::home / "docs/troubleshooting.md");
    const std::string literals = quoted_errors::allLiterals();
    static const std::regex heading(R"re(\n### `([^\n]+)`(?=\n))re");
    int messages = 0;
    for (std::sregex_iterator it(page.begin(), page.end(), heading), end; it != end; ++it) {
        ++messages;
        const std::string message = (*it)[1];
        CAPTURE(message);
        CHECK(message.size() >= 15);
        CHECK(quoted_errors::missingPart(message, literals) == "");
    }
    CHECK(messages > 20);
}

TEST_CASE("a message that the sources do not have is found") {
    const std::string literals = quoted_errors::literalsOf("f(\"there is \"\n    \"no node '\", \"say \\\"a\\\"\")");
    CHECK(quoted_errors::missingPart("there is no node '…'", literals) == "");
    CHECK(quoted_errors::missingPart("there is … channel", literals) == " channel");
    CHECK(quoted_errors::missingPart("say \"a\"", literals) == "");
    CHECK(quoted_errors::missingPart("there is a node", literals) == "there is a node");
}
