// NOT WITH: sanitize
// Limits the size of one object of the library: its data members, and the flags among them. A larger object is split
// into several.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t members_max = 25;
constexpr std::size_t flags_max = 5;
// The statements that a saver prepares: a list of constants, which does not change and has no behaviour of its own.
constexpr std::string_view list_of_statements = "PostgresStatements";

struct Type {
    std::string name;
    std::size_t members = 0;
    std::size_t flags = 0;
};

std::string without(std::string text, const char* pattern) {
    const std::regex part(pattern);
    for (std::string less;; text = less) {
        less = std::regex_replace(text, part, "");
        if (less == text) return text;
    }
}

// Counts one statement of a type's body, which may declare a member, or several.
void count(const std::string& statement, Type& type) {
    static const std::regex other(
        "^(using|friend|static|typedef|template|enum|class|struct|union|public|private|protected|"
        R"(constexpr|requires|explicit|virtual|inline)\b.*)");
    if (std::regex_match(statement, other)) return;
    const bool is_flag = std::regex_search(statement, std::regex(R"(^(mutable )?(bool|std::atomic<bool>) )"));
    std::string text = without(statement, R"(SG_[A-Z_]+\([^()]*\)|\[\[[^\]]*\]\]|<[^<>]*>|\{[^{}]*\})");
    text = text.substr(0, text.find('='));
    const bool is_pointer_to_function = text.find("(*") != std::string::npos;
    if (text.find('(') != std::string::npos && !is_pointer_to_function) return;
    if (text.find(' ') == std::string::npos) return;
    const std::size_t names =
        is_pointer_to_function ? 1 : 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ','));
    type.members += names;
    type.flags += is_flag ? names : 0;
}

// Finds types in the layout of clang-format: a body is indented by four more than the line that opens it.
std::vector<Type> typesOf(std::istream& file) {
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line.substr(0, line.find("//")));
    static const std::regex opens(R"(^( *)(class|struct) ([A-Za-z_][\w:]*)[^;()]*\{ *$)");
    std::vector<Type> types;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::smatch found;
        if (!std::regex_match(lines[i], found, opens)) continue;
        const std::string indent = found[1];
        Type type{found[3]};
        std::string statement;
        for (std::size_t k = i + 1; k < lines.size() && !lines[k].starts_with(indent + "}"); ++k) {
            const std::size_t begin = lines[k].find_first_not_of(' ');
            if (begin == std::string::npos) continue;
            if (statement.empty() && begin != indent.size() + 4) continue;
            const std::size_t end = lines[k].find_last_not_of(' ');
            statement += (statement.empty() ? "" : " ") + lines[k].substr(begin, end + 1 - begin);
            if (statement.back() == ';') count(statement, type);
            if (statement.back() == ';' || statement.back() == '{' || statement.back() == '}' ||
                statement.back() == ':')
                statement.clear();
        }
        types.push_back(type);
    }
    return types;
}

}  // namespace

TEST_CASE("members and flags are counted as the layout shows them") {
    std::istringstream file(R"(namespace a {
class One : public Base {
public:
    One() : a_(1) {}
    void f(int a = 3) const;
    static constexpr int most = 3;
    struct Inner {
        bool inside = false;
    };

private:
    std::map<int, bool> a_
        SG_GUARDED_BY(mutex_);  // by number
    bool b_ = false;
    mutable std::atomic<bool> c_ = false;
    int d_, e_;
    void (*call_)(void*) = nullptr;
    Options f_{.size = 3};
};
})");
    const std::vector<Type> types = typesOf(file);
    REQUIRE(types.size() == 2);
    CHECK(types[0].name == "One");
    CHECK(types[0].members == 7);
    CHECK(types[0].flags == 2);
    CHECK(types[1].members == 1);
    CHECK(types[1].flags == 1);
}

TEST_CASE("no object of the engine and of the products has more than 25 members, or 5 flags") {
    const fs::path project = fs::path(STATEGRAPH_TESTS_DIR).parent_path();
    std::size_t seen = 0;
    for (const char* root :
         {"include", "src", "storage", "json", "worker", "workflow", "model", "agent", "serve", "inspect"}) {
        for (const auto& entry : fs::recursive_directory_iterator(project / root)) {
            if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
            std::ifstream file(entry.path());
            CAPTURE(fs::relative(entry.path(), project).string());
            for (const Type& type : typesOf(file)) {
                CAPTURE(type.name);
                CHECK((type.members <= members_max || type.name == list_of_statements));
                CHECK(type.flags <= flags_max);
                seen += type.members;
            }
        }
    }
    CHECK(seen > 1000);
}
