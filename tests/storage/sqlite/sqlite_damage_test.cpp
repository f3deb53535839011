// SQLite files and logs that were truncated or altered, and disks that are full.
// NOT WITH: sanitize=thread
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/sqlite/sqlite_helper.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace sqlite_tests;
using namespace stategraph;
using namespace stategraph::testing;

namespace {

constexpr unsigned commits_made = 12;
constexpr std::size_t frame_size = 24 + 4096;

// The log of a subgraph, which no index of threads contains: each commit is one frame.
const LogName where{"t", "child"};

struct Files {
    std::string database;
    std::string log;
};

std::string contentOf(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Files as a killed process leaves them: the tables in the file, the commits in the log.
Files makeFiles(const TemporaryFolder& folder) {
    const fs::path path = folder / "made.db";
    { const SqliteSaver saver(path.string()); }
    Helper helper("helper: makes a log of a SQLite file", path, folder / "notes");
    awaitLines(folder / "notes", 1);
    helper.kill();
    return {contentOf(path), contentOf(path.string() + "-wal")};
}

fs::path store(const TemporaryFolder& folder, const Files& files) {
    static int number = 0;
    const fs::path path = folder / ("copy" + std::to_string(++number) + ".db");
    std::ofstream(path, std::ios::binary) << files.database;
    std::ofstream(path.string() + "-wal", std::ios::binary) << files.log;
    return path;
}

// The number of commits, which must be the first ones and readable.
unsigned commitsIn(SqliteSaver& saver) {
    const auto ids = listIds(saver, where);
    for (unsigned n = 1; n <= ids.size(); ++n) CHECK(ids[ids.size() - n] == nthId(n));
    if (!ids.empty()) CHECK(readChannels(where, *saver.getTuple({.log = where})).at("channel") == Value("value"));
    return static_cast<unsigned>(ids.size());
}

}  // namespace

TEST_CASE("helper: makes a log of a SQLite file" * doctest::skip()) {
    const std::string path = given("STATEGRAPH_TEST_DATABASE");
    if (path.empty()) return;
    SqliteSaver saver(path);
    putLine(saver, where, commits_made);
    std::ofstream(given("STATEGRAPH_TEST_NOTES")) << "ready\n";
    std::this_thread::sleep_for(std::chrono::minutes(10));  // sleeps: the process is killed before that
}

TEST_CASE("a log of a SQLite file that is cut anywhere gives what is whole before the cut, and says what it dropped") {
    const TemporaryFolder folder;
    const Files files = makeFiles(folder);
    REQUIRE(files.log.size() == 32 + commits_made * frame_size);
    unsigned before = 0;
    for (std::size_t size = 0; size <= files.log.size(); size += 515) {
        CAPTURE(size);
        const fs::path path = store(folder, {files.database, files.log.substr(0, size)});
        SqliteSaver saver(path.string());
        const unsigned count = commitsIn(saver);
        CHECK(count == (size < 32 ? 0 : (size - 32) / frame_size));
        CHECK(count >= before);
        before = count;
        const bool is_at_end = size == 0 || (size >= 32 && (size - 32) % frame_size == 0);
        CHECK(saver.droppedAtOpening().empty() == is_at_end);
        if (!is_at_end) CHECK_HAS(saver.droppedAtOpening(), "not a whole commit; they were dropped");
        putOne(saver, where, count > 0 ? nthId(count) : CheckpointId(), makeCommit(count + 1, count));
    }
    CHECK(before >= commits_made - 1);
}

TEST_CASE("a log of a SQLite file with damage in its midst is refused, or dropped from there on if that is asked for") {
    const TemporaryFolder folder;
    const Files files = makeFiles(folder);
    for (unsigned frame = 0; frame < commits_made; ++frame) {
        for (const std::size_t inside :
             {std::size_t{3}, std::size_t{6}, std::size_t{9}, std::size_t{17}, std::size_t{30}, std::size_t{4000}}) {
            CAPTURE(frame);
            CAPTURE(inside);
            std::string log = files.log;
            log[32 + frame * frame_size + inside] ^= 0x10;
            const fs::path path = store(folder, {files.database, log});
            const std::string said = openingError(path);
            if (frame + 1 < commits_made) {
                CHECK_HAS(said, "CorruptCheckpointError");
                CHECK_HAS(said, path.string());
                CHECK_HAS(said, "damage after byte " + std::to_string(32 + frame * frame_size));
                CHECK_HAS(said, "drop_damaged_log");
                CHECK_HAS(openingError(path, {.read_only = true}), "drop_damaged_log");
            } else {
                CHECK(said.empty());
            }
            if (frame + 1 < commits_made) {
                SqliteSaver saver(path.string(), {.drop_damaged_log = true});
                CHECK(commitsIn(saver) == frame);
                CHECK_FALSE(saver.droppedAtOpening().empty());
                putOne(saver, where, frame > 0 ? nthId(frame) : CheckpointId(), makeCommit(frame + 1, frame));
            }
            CHECK(openingError(path).empty());
        }
    }
}

TEST_CASE("a log of a SQLite file whose first bytes are damaged is refused") {
    const TemporaryFolder folder;
    const Files files = makeFiles(folder);
    for (const std::size_t at : {std::size_t{2}, std::size_t{13}, std::size_t{17}, std::size_t{26}}) {
        CAPTURE(at);
        std::string log = files.log;
        log[at] ^= 0x10;
        CHECK_HAS(openingError(store(folder, {files.database, log})), "would be lost");
    }
}

TEST_CASE("a SQLite file that was cut or altered says so, or gives what was stored") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    {
        SqliteSaver saver(path.string());
        putLine(saver, where, 200);
        putLine(saver, {"other"}, 3);
    }
    const std::string whole = contentOf(path);
    REQUIRE(whole.size() > 5 * 4096);
    const auto look = [&](const std::string& content) {
        const fs::path copy = store(folder, {content, ""});
        return databaseError([&] {
            SqliteSaver saver(copy.string());
            const auto ids = listIds(saver, where);
            if (ids.size() != 200) throw CorruptCheckpointError("rows are missing: " + copy.string());
            for (unsigned n = 1; n <= 200; ++n)
                (void)readChannels(where, *saver.getTuple({.log = where, .checkpoint_id = nthId(n)}));
        });
    };
    CHECK(look(whole).empty());
    for (std::size_t pages = 1; pages < whole.size() / 4096; ++pages) {
        CAPTURE(pages);
        CHECK_HAS(look(whole.substr(0, pages * 4096)), "CorruptCheckpointError");
        CHECK_HAS(look(whole.substr(0, pages * 4096 + 100)), "CorruptCheckpointError");
    }
}

TEST_CASE("a damaged row of a SQLite file stops nothing but its thread") {
    const TemporaryFolder folder;
    SqliteSaver saver((folder / "a.db").string());
    for (const char* thread : {"a", "bad", "c"}) putLine(saver, {thread}, 5);
    Raw(folder / "a.db").run("UPDATE commits SET bytes=zeroblob(30) WHERE thread=CAST('bad' AS BLOB)");
    const std::string said = databaseError([&] { (void)saver.getTuple({.log = {"bad"}}); });
    CHECK_HAS(said, "CorruptCheckpointError");
    CHECK_HAS(said, "bad");
    CHECK(saver.list({}).size() == 15);
    CHECK(saver.getTuple({.log = {"a"}})->head == nthId(5));
    std::vector<DamagedThread> damaged;
    CHECK(saver.prune({.keep_last = 2, .damaged = &damaged}) == 6);
    REQUIRE(damaged.size() == 1);
    CHECK(damaged[0].thread_id == "bad");
    CHECK_HAS(databaseError([&] { (void)saver.prune({.thread_id = "bad", .keep_last = 2}); }),
              "CorruptCheckpointError");
    putOne(saver, {"c"}, nthId(5), makeCommit(6, 5));
    saver.deleteThread("bad");
    CHECK(saver.list({}).size() == 5);
}

TEST_CASE("a SQLite saver on a full disk stores nothing more, reads on, and writes again when there is room") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    SqliteSaver saver(path.string());
    putLine(saver, where, 3);
    const std::string text(50'000, 'x');
    unsigned stored = 3;
    {
        const FileSizeLimit limit(fs::file_size(path.string() + "-wal") + 200'000);
        std::string said;
        while (said.empty() && stored < 100) {
            said = databaseError([&] { putOne(saver, where, nthId(stored), makeCommit(stored + 1, stored, 0, text)); });
            stored += said.empty();
        }
        CHECK_HAS(said, "SaverError");
        CHECK_HAS(said, path.string());
        CHECK_HAS(said, "'t'");
        CHECK_HAS(said, "nothing of this was stored");
        CHECK(stored > 3);
        CHECK(listIds(saver, where).size() == stored);
        CHECK(saver.getTuple({.log = where})->head == nthId(stored));
        CHECK_HAS(databaseError([&] { putOne(saver, where, nthId(stored), makeCommit(stored + 1, stored, 0, text)); }),
                  "SaverError");
    }
    putOne(saver, where, nthId(stored), makeCommit(stored + 1, stored, 0, text), true);
    CHECK(listIds(saver, where).size() == stored + 1);
}
