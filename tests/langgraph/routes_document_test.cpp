// The table of routes in docs/langgraph_clients.md has each route of the code, and names no other as served.
// NOT WITH: sanitize=thread
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "langgraph/call.hpp"

namespace {

namespace lg = stategraph::langgraph;

/// Routes of the code as "METHOD /path/:id".
std::set<std::string> routesOfCode() {
    std::set<std::string> routes;
    for (const auto& rows : {lg::metaRows(), lg::assistantRows(), lg::threadRows(), lg::stateRows(), lg::runRows(),
                             lg::storeRows(), lg::scheduleRows(), lg::threadStreamRows(), lg::joinThreadRows()}) {
        for (const lg::Row& row : rows) routes.insert(std::string(row.method) + " " + std::string(row.target));
    }
    return routes;
}

/// A row of the table, with what it may mean: a path that continues an earlier one may begin after any segment of it.
struct Described {
    std::string row;
    std::vector<std::set<std::string>> routes = {};
    bool is_served = false;
};

std::set<std::string> meaningsOf(const std::string& method, const std::string& base, const std::string& path) {
    std::set<std::string> meanings{method + " " + path};
    for (std::size_t end = base.find('/', 1); end != std::string::npos; end = base.find('/', end + 1))
        meanings.insert(method + " " + base.substr(0, end) + path);
    meanings.insert(method + " " + base + path);
    return meanings;
}

Described described(const std::string& row, const std::string& answer) {
    Described found{.row = row, .is_served = answer.find_first_not_of(" ") != answer.find("no |")};
    static const std::regex item("`(?:(GET|POST|PUT|PATCH|DELETE))? ?(/[^`?]*)?`");
    static const std::regex name("/[A-Z]+(?=/|$)");
    std::string method;
    std::string base;
    std::vector<std::string> waiting;  // methods whose path comes later in the row
    for (std::sregex_iterator at(row.begin(), row.end(), item), end; at != end; ++at) {
        if ((*at)[1].matched) method = (*at)[1];
        if (!(*at)[2].matched) {
            waiting.push_back(method);
            continue;
        }
        const std::string path = std::regex_replace((*at)[2].str(), name, "/:id");
        const bool is_whole = (*at)[1].matched || base.empty();
        found.routes.push_back(is_whole ? std::set{method + " " + path} : meaningsOf(method, base, path));
        if (is_whole) base = path;
        for (const std::string& each : waiting) found.routes.push_back({each + " " + path});
        waiting.clear();
    }
    for (const std::string& each : waiting) found.routes.push_back({each + " " + base});
    return found;
}

std::vector<Described> routesOfDocument() {
    std::ifstream in(std::filesystem::path(STATEGRAPH_TESTS_DIR).parent_path() / "docs/langgraph_clients.md");
    REQUIRE(in);
    std::vector<Described> rows;
    bool is_table = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("## ")) is_table = line == "## Routes";
        const std::size_t end = line.find(" | ", 2);
        if (is_table && line.starts_with("| `") && end != std::string::npos)
            rows.push_back(described(line.substr(0, end), line.substr(end + 3)));
    }
    return rows;
}

}  // namespace

TEST_CASE("the table of routes in the documentation has all routes of the code, and no others") {
    const std::set<std::string> code = routesOfCode();
    const std::vector<Described> rows = routesOfDocument();
    CHECK(rows.size() > 10);
    std::set<std::string> explained;
    for (const Described& row : rows) {
        for (const auto& route : row.routes) {
            std::string known;  // the longest one, which continues most of the earlier path
            for (const std::string& each : route) {
                if (code.contains(each) && each.size() > known.size()) known = each;
            }
            INFO(row.row << ": " << *route.begin());
            CHECK(known.empty() != row.is_served);
            if (!known.empty()) explained.insert(known);
        }
    }
    for (const std::string& route : code) {
        INFO("docs/langgraph_clients.md does not name " << route);
        CHECK(explained.contains(route));
    }
}
