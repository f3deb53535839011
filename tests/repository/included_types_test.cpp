// NOT WITH: sanitize
// Checks that each file includes what declares the types it names, itself or through others. Builds that put several
// sources into one unit compile without such an include, and those that compile each source alone do not.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;

struct File {
    std::vector<std::string> includes;
    /// Types that it declares outside of other types, at the beginning of a line.
    std::set<std::string> declared;
    /// All names after `class`, `struct`, `enum`, `using`, `typename`, `auto` or `concept`.
    std::set<std::string> known;
    std::set<std::string> named;
};

bool isLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Splits a line of code into names and other characters, without comments and texts.
std::vector<std::string> tokensOf(std::string_view line) {
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i < line.size();) {
        if (line.substr(i).starts_with("//")) break;
        if (line[i] == '"') {
            for (++i; i < line.size() && line[i] != '"'; ++i) i += line[i] == '\\' ? 1 : 0;
            ++i;
        } else if (isLetter(line[i])) {
            const std::size_t begin = i;
            while (i < line.size() && isLetter(line[i])) ++i;
            tokens.emplace_back(line.substr(begin, i - begin));
        } else {
            if (line[i] != ' ') tokens.emplace_back(1, line[i]);
            ++i;
        }
    }
    return tokens;
}

bool isTypeName(const std::string& token) {
    if (std::isupper(static_cast<unsigned char>(token[0])) == 0) return false;
    return token.find_first_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos;
}

// Members of objects, as in `db->Put`, are not types.
bool isMember(const std::vector<std::string>& tokens, std::size_t at) {
    return (at >= 2 && tokens[at - 1] == "." && tokens[at - 2] != ".") ||
           (at >= 2 && tokens[at - 1] == ">" && tokens[at - 2] == "-");
}

// Names such as rocksdb::Snapshot are another library's.
bool isForeign(const std::vector<std::string>& tokens, std::size_t at) {
    static const std::set<std::string> libraries = {"std", "rocksdb", "json", "asio", "http", "beast",   "boost",
                                                    "ssl", "ip",      "tcp",  "re2",  "RE2",  "doctest", "benchmark"};
    return at >= 3 && tokens[at - 1] == ":" && tokens[at - 2] == ":" && libraries.contains(tokens[at - 3]);
}

void readLine(const std::string& line, File& file) {
    static const std::set<std::string> introducing = {"class",    "struct", "enum",   "using",
                                                      "typename", "auto",   "concept"};
    const std::vector<std::string> tokens = tokensOf(line);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (!isTypeName(tokens[i]) || isMember(tokens, i) || isForeign(tokens, i)) continue;
        file.named.insert(tokens[i]);
        std::size_t before = i;
        if (i > 3 && tokens[i - 1] == ")") {
            while (before > 0 && tokens[before] != "(") --before;  // an attribute's macro has its argument there
        }
        while (before > 0 && (tokens[before - 1] == "." || tokens[before - 1].starts_with("SG_"))) --before;
        if (before == 0 || !introducing.contains(tokens[before - 1])) continue;
        file.known.insert(tokens[i]);
        const bool is_type = tokens[0] == "class" || tokens[0] == "struct" || tokens[0] == "enum";
        if (is_type && line[0] != ' ') file.declared.insert(tokens[i]);
    }
}

File read(std::istream& text) {
    File file;
    bool is_raw_text = false;
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with("#include ")) {
            const std::size_t end = line.find_first_of(">\"", 10);
            if (end != std::string::npos) file.includes.push_back(line.substr(10, end - 10));
        }
        if (line.starts_with("#")) continue;
        const std::size_t raw = line.find("R\"(");
        if (!is_raw_text) readLine(line.substr(0, raw), file);
        if (raw != std::string::npos) is_raw_text = true;
        if (line.find(")\"", raw == std::string::npos ? 0 : raw + 3) != std::string::npos) is_raw_text = false;
    }
    return file;
}

using Files = std::map<std::string, File>;

/// The path of what a file includes, as a key of `files`; empty if it is not the project's.
std::string resolved(const Files& files, const std::string& from, const std::string& included) {
    for (const fs::path& path :
         {fs::path("include") / included, fs::path(included), fs::path(from).parent_path() / included}) {
        if (files.contains(path.lexically_normal().generic_string())) return path.lexically_normal().generic_string();
    }
    return {};
}

void reach(const Files& files, const std::string& from, std::set<std::string>& reached) {
    if (!reached.insert(from).second) return;
    for (const std::string& included : files.at(from).includes) {
        if (const std::string next = resolved(files, from, included); !next.empty()) reach(files, next, reached);
    }
}

/// Returns sentences such as "a.cpp names Error, which it does not include".
std::vector<std::string> missingIn(const Files& files) {
    std::map<std::string, std::string> headers;  // by type
    for (const auto& [path, file] : files) {
        if (!path.ends_with(".hpp") || path.starts_with("tests/") || path.starts_with("benchmarks/")) continue;
        for (const std::string& name : file.declared) headers.emplace(name, path);
    }
    std::vector<std::string> missing;
    for (const auto& [path, file] : files) {
        std::set<std::string> reached;
        reach(files, path, reached);
        std::set<std::string> known;
        for (const std::string& each : reached) known.insert(files.at(each).known.begin(), files.at(each).known.end());
        for (const std::string& name : file.named) {
            if (headers.contains(name) && !known.contains(name))
                missing.push_back(path + " names " + name + ", of " + headers.at(name) + ", and does not include it");
        }
    }
    return missing;
}

File fileOf(const std::string& text) {
    std::istringstream stream(text);
    return read(stream);
}

TEST_CASE("a file that names a type without including its header is found") {
    Files files;
    files["include/error.hpp"] = fileOf("class SG_API(x) LostError : public Error {\n};\n");
    files["a.hpp"] = fileOf("#include <error.hpp>\n");
    files["good.cpp"] = fileOf("#include \"a.hpp\"\nvoid f() { throw LostError(); }\n");
    files["other.cpp"] = fileOf("// LostError\nstd::string a = \"LostError\"; rocksdb::LostError b = c->LostError;\n");
    files["forward.cpp"] = fileOf("class LostError;\nvoid f(const LostError&);\n");
    CHECK(missingIn(files).empty());
    files["bad.cpp"] = fileOf("#include <string>\nvoid f() { throw LostError(); }\n");
    CHECK(missingIn(files) ==
          std::vector<std::string>{"bad.cpp names LostError, of include/error.hpp, and does not include it"});
}

TEST_CASE("each file includes what declares the types that it names") {
    const fs::path project = fs::path(STATEGRAPH_TESTS_DIR).parent_path();
    Files files;
    for (const char* room : {"include", "src", "storage", "json", "workflow", "model", "agent", "serve", "inspect",
                             "worker", "tests", "benchmarks", "examples"}) {
        for (auto entry = fs::recursive_directory_iterator(project / room); entry != fs::recursive_directory_iterator();
             ++entry) {
            // The programs of the amalgamation include its one header.
            if (entry->path().filename() == "node_modules" || entry->path().filename() == "amalgamation")
                entry.disable_recursion_pending();
            if (entry->path().extension() != ".cpp" && entry->path().extension() != ".hpp") continue;
            std::ifstream text(entry->path());
            files[fs::relative(entry->path(), project).generic_string()] = read(text);
        }
    }
    REQUIRE(files.size() > 500);
    for (const std::string& sentence : missingIn(files)) FAIL_CHECK(sentence);
}

}  // namespace
