// Several processes on one SQLite file.
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/sqlite/sqlite_helper.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace sqlite_tests;
using namespace stategraph;
using namespace stategraph::testing;

namespace {

std::string threadNamed(int number) { return "shared " + std::to_string(number); }

// Puts one commit behind whatever is the newest; another writer may be first. The commit's id; none if it was not.
CheckpointId tryToAppend(BaseCheckpointSaver& saver, const std::string& thread_id, unsigned writer, bool sync) {
    const auto newest = saver.list({.thread_id = thread_id, .checkpoint_ns = "", .limit = 1});
    CheckpointId head;
    std::int64_t step = 0;
    if (!newest.empty()) {
        head = newest[0].id;
        step = readHeader({thread_id, "", head}, newest[0].bytes).step;
    }
    const auto id = nthId(static_cast<unsigned>(step) + 1, writer);
    const auto commit = makeCommit(
        {.id = id, .parent = head, .step = step + 1, .changes = {{.channel = "channel", .value = Value("value")}}});
    try {
        putOne(saver, {thread_id}, head, commit, sync);
        return id;
    } catch (const ConcurrentUpdateError&) {
        return {};
    }
}

// A log is one line: each commit's parent is the one before it.
void checkLine(BaseCheckpointSaver& saver, const std::string& thread_id, std::set<std::string>& ids) {
    CheckpointId child_of;
    for (const ListedCheckpoint& row : saver.list({.thread_id = thread_id})) {
        if (!child_of.empty()) CHECK(row.id == child_of);
        child_of = readLinks({thread_id, "", row.id}, row.bytes).parent;
        ids.insert(thread_id + " " + row.id.toString());
    }
    CHECK(child_of.empty());
}

}  // namespace

TEST_CASE("helper: appends to shared threads of a SQLite file" * doctest::skip()) {
    const std::string path = given("STATEGRAPH_TEST_DATABASE");
    if (path.empty()) return;
    const auto writer = static_cast<unsigned>(std::stoul(given("STATEGRAPH_TEST_NUMBER")));
    SqliteSaver saver(path, {.busy_timeout = std::chrono::minutes(2)});  // a busy disk may hold up a commit
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    notes << "ready\n" << std::flush;
    for (int n = 0; n < 450; ++n) {
        const std::string thread_id = threadNamed(n % 3);
        for (;;) {
            const CheckpointId id = tryToAppend(saver, thread_id, writer, n % 10 == 0);
            if (id.empty()) continue;
            notes << thread_id << ' ' << id.toString() << '\n' << std::flush;
            break;
        }
    }
}

TEST_CASE("helper: commits to a SQLite file without an end" * doctest::skip()) {
    const std::string path = given("STATEGRAPH_TEST_DATABASE");
    if (path.empty()) return;
    const bool sync = given("STATEGRAPH_TEST_NUMBER") == "1";
    SqliteSaver saver(path);
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    notes << "ready\n" << std::flush;
    for (;;) {
        const CheckpointId id = tryToAppend(saver, "t", 0, sync);
        REQUIRE(!id.empty());
        notes << "t " << id.toString() << '\n' << std::flush;
    }
}

TEST_CASE("two processes that write the same threads lose nothing and fork nothing") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    {
        // They also make the file at the same time.
        Helper one("helper: appends to shared threads of a SQLite file", path, folder / "notes1", 1);
        Helper two("helper: appends to shared threads of a SQLite file", path, folder / "notes2", 2);
        CHECK(one.wait() == 0);
        CHECK(two.wait() == 0);
    }
    std::set<std::string> stored;
    SqliteSaver saver(path.string());
    CHECK(saver.droppedAtOpening().empty());
    for (int i = 0; i < 3; ++i) checkLine(saver, threadNamed(i), stored);
    CHECK(stored.size() == 900);
    for (const char* notes : {"notes1", "notes2"}) {
        std::ifstream file(folder / notes);
        std::string line;
        std::getline(file, line);
        std::size_t missing = 0;
        std::size_t lines = 0;
        for (; std::getline(file, line); ++lines) missing += stored.count(line) == 0;
        CHECK(lines == 450);
        CHECK(missing == 0);
    }
}

TEST_CASE("all that a killed process was told is stored is in the SQLite file, kill after kill") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    for (int round = 0; round < 6; ++round) {
        CAPTURE(round);
        const fs::path notes = folder / ("notes" + std::to_string(round));
        Helper helper("helper: commits to a SQLite file without an end", path, notes, round % 2);
        awaitLines(notes, 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + 17 * round));
        helper.kill();
        SqliteSaver saver(path.string());
        std::set<std::string> stored;
        checkLine(saver, "t", stored);
        std::ifstream file(notes);
        std::string line;
        std::getline(file, line);
        std::size_t missing = 0;
        for (; std::getline(file, line) && !file.eof();) missing += stored.count(line) == 0;
        CHECK(missing == 0);
    }
}

TEST_CASE("a reader beside a writing process sees a line that grows, whole at every moment") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    { const SqliteSaver saver(path.string()); }
    SqliteSaver reader(path.string(), {.read_only = true});
    CHECK(reader.list({}).empty());
    Helper helper("helper: commits to a SQLite file without an end", path, folder / "notes");
    awaitLines(folder / "notes", 20);
    CheckpointId last;
    std::size_t growths = 0;
    const auto begin = std::chrono::steady_clock::now();
    while (growths < 30 && std::chrono::steady_clock::now() - begin < std::chrono::minutes(2)) {
        const auto tuple = reader.getTuple({.log = {"t"}});
        REQUIRE(tuple);
        CHECK(tuple->id == tuple->head);
        CHECK(tuple->head >= last);
        CHECK(readChannels({"t"}, *tuple).at("channel") == Value("value"));
        growths += tuple->head > last;
        last = tuple->head;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    CHECK(growths == 30);
    helper.kill();
    std::set<std::string> stored;
    checkLine(reader, "t", stored);
    CHECK(stored.count("t " + last.toString()) == 1);
}
