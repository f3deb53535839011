// The words for how threads, runs and attempts stand, and the table of docs/semantics.md that says which of them
// threads and runs have.
// NOT WITH: sanitize=thread
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/status.hpp>

namespace sg = stategraph;
using sg::Status;
using sg::Statuses;

namespace {

const std::vector<Status>& all() {
    static const std::vector<Status> every = [] {
        std::vector<Status> found;
        for (unsigned i = 0; i <= static_cast<unsigned>(Status::handled); ++i) found.push_back(static_cast<Status>(i));
        return found;
    }();
    return every;
}

std::string cellOf(std::istringstream& row) {
    std::string cell;
    std::getline(row, cell, '|');
    const auto first = cell.find_first_not_of(' ');
    return first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1);
}

/// The statuses of the document's table, in its order, and those of each of its columns.
struct Table {
    std::vector<Status> rows;
    Statuses of_threads;
    Statuses of_runs;
};

Table readTable() {
    std::ifstream in(std::filesystem::path(STATEGRAPH_TESTS_DIR).parent_path() / "docs/semantics.md");
    REQUIRE(in);
    Table table;
    bool is_inside = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("| status |")) is_inside = true;
        if (is_inside && line.empty()) break;
        if (!is_inside || !line.starts_with("| `")) continue;
        std::istringstream row(line.substr(1));
        const std::string word = cellOf(row);
        const auto status = sg::readStatus(std::string_view(word).substr(1, word.size() - 2));
        INFO(line);
        REQUIRE(status);
        table.rows.push_back(*status);
        for (Statuses* const column : {&table.of_threads, &table.of_runs}) {
            if (cellOf(row) == "yes") *column = *column | *status;
        }
    }
    return table;
}

TEST_CASE("every status has a word that reads back as it, and no other word does") {
    for (const Status status : all()) {
        CAPTURE(toString(status));
        CHECK((sg::readStatus(toString(status)) == status));
    }
    for (const char* word : {"", "?", "Done", "done ", "finished", "unknown"}) CHECK_FALSE(sg::readStatus(word));
    CHECK(toString(static_cast<Status>(200)) == std::string("?"));
}

TEST_CASE("the statuses of threads and runs are those of docs/semantics.md") {
    const Table table = readTable();
    CHECK((table.rows == all()));
    CHECK((table.of_threads == (Statuses::indexed() | Statuses::unreadable() | Status::set_aside)));
    CHECK((table.of_runs == Statuses::ofRuns()));
    for (std::size_t i = 0; i < sg::indexed_statuses.size(); ++i) CHECK((sg::indexed_statuses[i] == all()[i]));
    CHECK_FALSE(Statuses::open().has(Status::done));
    CHECK(((Statuses::open() | Status::done) == Statuses::indexed()));
}

}  // namespace
