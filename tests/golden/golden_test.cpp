#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#endif

#include "src/checkpoint/record.hpp"
#include "tests/golden/rows.hpp"
#include "tests/golden/threads_v1.hpp"
#include "tests/support/temporary_folder.hpp"

// Databases that earlier programs wrote can be read, and their threads continue to the same ends as then.
namespace fs = std::filesystem;
namespace sg = stategraph;

namespace {

const fs::path folder = fs::path(STATEGRAPH_TESTS_DIR) / "golden" / "v1";

std::string textOf(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    REQUIRE(in.good());
    return text.str();
}

boost::json::object expected() { return boost::json::parse(textOf(folder / "expected.json")).as_object(); }

// Returns whether everything that is expected exists. Later versions may show more in a snapshot.
bool has(const boost::json::value& shown, const boost::json::value& wanted) {
    if (wanted.is_object() && shown.is_object()) {
        const auto& object = shown.get_object();
        return std::all_of(wanted.get_object().begin(), wanted.get_object().end(), [&](const auto& entry) {
            return object.contains(entry.key()) && has(object.at(entry.key()), entry.value());
        });
    }
    if (wanted.is_array() && shown.is_array()) {
        return std::equal(shown.get_array().begin(), shown.get_array().end(), wanted.get_array().begin(),
                          wanted.get_array().end(), has);
    }
    return shown == wanted;
}

// Checks the threads, for each of which `make` returns a saver: they are as expected before they continue and after.
template <class Make>
void check(Make make) {
    const boost::json::object all = expected();
    const auto threads = golden::threads();
    REQUIRE(all.size() == threads.size());
    const golden::SharedSaver saver = make();
    CHECK(golden::rowsOf(*saver) == textOf(folder / "rows.txt"));
    for (const auto& thread : threads) {
        CAPTURE(thread.name);
        CHECK(has(boost::json::parse(thread.describe(saver)), all.at(thread.name).at("shows")));
    }
    for (const auto& thread : threads) {
        CAPTURE(thread.name);
        CHECK(boost::json::parse(thread.finish(saver)) == all.at(thread.name).at("ends"));
    }
}

/// Notes which parts of the format the rows contain.
class Seen {
public:
    explicit Seen(const std::string& rows) {
        std::istringstream lines(rows);
        for (std::string line; std::getline(lines, line);) {
            std::vector<std::string> parts(6);
            std::istringstream columns(line);
            for (auto& part : parts) std::getline(columns, part, '\t');
            const std::string bytes = golden::bytesOf(parts[5]);
            const sg::RowKey key{parts[1], parts[2], sg::CheckpointId(parts[3]), parts[4]};
            if (parts[0] == "commit") {
                take(stategraph::checkpoint::readCommit(key, bytes));
            } else {
                take(stategraph::checkpoint::readTask(key, bytes), parts[4]);
            }
        }
    }
    bool operator()(const std::string& what) const { return seen_.count(what) != 0; }

private:
    using Ran = stategraph::checkpoint::Ran;

    void note(bool is_there, const std::string& what) {
        if (is_there) seen_.insert(what);
    }
    void writes(const std::optional<std::string_view>& list, const std::string& where) {
        if (!list) return;
        seen_.insert(where);
        for (const auto& write : stategraph::checkpoint::readWrites(*list))
            seen_.insert(std::string("write ") + static_cast<char>(write.kind));
    }
    void take(const stategraph::checkpoint::CommitFields& commit) {
        seen_.insert(std::string("source ") + sg::toString(commit.source));
        note(commit.ran.kind == Ran::Kind::one, "ran");
        note(commit.ran.kind == Ran::Kind::several, "ran several");
        note(!commit.next.empty(), "next");
        note(commit.edges.has_value(), "edges");
        note(commit.folds > 1, "folds");
        note(!commit.sends.empty(), "sends");
        note(!commit.parents.empty(), "parents");
        note(!commit.metadata.empty(), "metadata");
        note(commit.base == commit.id && commit.parent, "snapshot");
        note(commit.parent.low() != 0 && commit.parent.low() != commit.id.low(), "ref in full");
        for (const auto& join : commit.joins) seen_.insert(join.arrived.empty() ? "join fired" : "join waits");
        for (const auto& each : commit.deferred) {
            seen_.insert((each.key.starts_with("join:") ? "deferred join " : "deferred ") +
                         std::to_string(static_cast<int>(each.state)));
        }
        writes(commit.input, "input");
        note(commit.writes.has_value(), "writes");
        for (const auto& write : stategraph::checkpoint::readCommitWrites(commit)) {
            note(write.as_logged, "write as logged");
            note(!write.as_logged, std::string("write ") + static_cast<char>(write.kind));
        }
        for (const auto& op : stategraph::checkpoint::readOperations(commit.operations)) {
            seen_.insert(std::string("op ") + static_cast<char>(op.op));
        }
    }
    void take(const stategraph::checkpoint::TaskFields& task, const std::string& path) {
        note(!task.to.empty(), "task to");
        note(!task.sends.empty(), "task sends");
        note(task.error.has_value(), "task error");
        note(!task.answers.empty(), "task answers");
        note(!task.interrupts.empty(), "task interrupts");
        note(path == "command", "task command");
        if (path == "run") seen_.insert("run " + std::string(task.node));
        note(task.effect && task.effect->result, "effect done");
        note(task.effect && !task.effect->result, "effect begun");
        writes(task.writes, "task writes");
    }

    std::set<std::string> seen_;
};

}  // namespace

TEST_CASE("threads that the first version stored, from its rows into a memory saver, look and end as they did then") {
    check([] {
        const auto saver = std::make_shared<stategraph::MemorySaver>();
        golden::load(textOf(folder / "rows.txt"), *saver);
        return saver;
    });
}

#if STATEGRAPH_HAS_ROCKSDB
TEST_CASE("a RocksDB database that the first version wrote looks and ends as it did then") {
    const TemporaryFolder copy;
    const fs::path database = copy / "db";
    fs::create_directory(database);
    for (const auto& entry : fs::directory_iterator(folder / "db")) {
        fs::copy_file(entry.path(), database / entry.path().filename());
        fs::permissions(database / entry.path().filename(), fs::perms::owner_write, fs::perm_options::add);
    }
    check([&] { return std::make_shared<stategraph::RocksDBSaver>(database.string()); });
}
#endif

TEST_CASE("the comparison with what is expected finds what is missing and what differs") {
    const auto wanted = boost::json::parse(R"({"a":[{"b":1}],"c":null})");
    CHECK(has(boost::json::parse(R"({"a":[{"b":1,"more":2}],"c":null,"d":0})"), wanted));
    for (const char* other : {R"({"a":[{"b":2}],"c":null})", R"({"a":[{"b":1}]})", R"({"a":[],"c":null})",
                              R"({"a":[{"b":1},{"b":1}],"c":null})"}) {
        CHECK_FALSE(has(boost::json::parse(other), wanted));
    }
}

TEST_CASE("the rows of the first version have every element of its format") {
    const Seen seen(textOf(folder / "rows.txt"));
    for (const std::string what : {"source input",
                                   "source loop",
                                   "source update",
                                   "source fork",
                                   "ran",
                                   "ran several",
                                   "next",
                                   "edges",
                                   "folds",
                                   "sends",
                                   "parents",
                                   "metadata",
                                   "snapshot",
                                   "ref in full",
                                   "join fired",
                                   "join waits",
                                   "deferred 0",
                                   "deferred 1",
                                   "deferred 2",
                                   "deferred join 0",
                                   "deferred join 2",
                                   "input",
                                   "writes",
                                   "write as logged",
                                   "write =",
                                   "write +",
                                   "write !",
                                   "write w",
                                   "write -",
                                   "op =",
                                   "op +",
                                   "op |",
                                   "op ~",
                                   "op -",
                                   "task to",
                                   "task sends",
                                   "task error",
                                   "task answers",
                                   "task interrupts",
                                   "task command",
                                   "task writes",
                                   "effect done",
                                   "effect begun",
                                   "run breakpoint",
                                   "run limit",
                                   "run failed",
                                   "run running"}) {
        CAPTURE(what);
        CHECK(seen(what));
    }
}
