// Several processes that use one SQLite file.
// NOT WITH: sanitize=thread
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
#include "tests/support/shared_threads.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace sqlite_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace shared_threads;

TEST_CASE("helper: appends to shared threads of a SQLite file" * doctest::skip()) {
    const std::string path = given("STATEGRAPH_TEST_DATABASE");
    if (path.empty()) return;
    const auto writer = static_cast<unsigned>(std::stoul(given("STATEGRAPH_TEST_NUMBER")));
    SqliteSaver saver(path, {.busy_timeout = std::chrono::minutes(5)});  // a busy disk may delay a commit
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
        // They also create the file at the same time.
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

TEST_CASE("what was confirmed to a killed process is in the SQLite file, kill after kill") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    for (int round = 0; round < 6; ++round) {
        CAPTURE(round);
        const fs::path notes = folder / ("notes" + std::to_string(round));
        Helper helper("helper: commits to a SQLite file without an end", path, notes, round % 2);
        awaitLines(notes, 1);
        // sleeps: the moment differs from round to round
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

TEST_CASE("a reader next to a writing process sees a line that grows, whole at every moment") {
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
    while (growths < 30 && std::chrono::steady_clock::now() - begin < std::chrono::minutes(5)) {
        const auto tuple = reader.getTuple({.log = {"t"}});
        REQUIRE(tuple);
        CHECK(tuple->id == tuple->head);
        CHECK(tuple->head >= last);
        CHECK(readChannels({"t"}, *tuple).at("channel") == Value("value"));
        growths += tuple->head > last;
        last = tuple->head;
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // sleeps: between two looks
    }
    CHECK(growths == 30);
    helper.kill();
    std::set<std::string> stored;
    checkLine(reader, "t", stored);
    CHECK(stored.count("t " + last.toString()) == 1);
}
