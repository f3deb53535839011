// What the log of a SQLite file may have after its last commit: remains of writers that died or whose fsync failed,
// which are no damage, and what damage leaves. All of it is made by real kills, failed fsyncs and flipped bits.
// NOT WITH: sanitize=thread
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/sqlite/failing_vfs.hpp"
#include "tests/storage/sqlite/sqlite_helper.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace sqlite_tests;
using namespace stategraph;
using namespace stategraph::testing;

namespace {

constexpr std::size_t frame_size = 24 + 4096;
constexpr std::size_t header_size = 32;

// The log of a subgraph, which no index of threads contains: a small commit is one frame, a large one several.
const LogName where{"t", "child"};
const std::string large_text(20'000, 'x');

TestCommit small(unsigned n) { return makeCommit(n, n - 1); }
TestCommit large(unsigned n) { return makeCommit(n, n - 1, 0, large_text); }
CheckpointId before(unsigned n) { return n > 1 ? nthId(n - 1) : CheckpointId(); }

struct Files {
    std::string database;
    std::string log;
    std::string index;
};
enum class Index : bool { absent, present };

std::string contentOf(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
// Another process reads them: this one would lose SQLite's locks on a file that it closes.
Files filesOf(const fs::path& path) {
    const std::string seen = path.string() + "-seen";
    const std::string copy = "cp '" + path.string() + "' '" + seen + "' && cp '" + path.string() + "-wal' '" + seen +
                             "-wal' && cp '" + path.string() + "-shm' '" + seen + "-shm'";
    REQUIRE(std::system(copy.c_str()) == 0);
    return {contentOf(seen), contentOf(seen + "-wal"), contentOf(seen + "-shm")};
}
fs::path store(const TemporaryFolder& folder, const Files& files, Index index) {
    static int number = 0;
    const fs::path path = folder / ("copy" + std::to_string(++number) + ".db");
    std::ofstream(path, std::ios::binary) << files.database;
    std::ofstream(path.string() + "-wal", std::ios::binary) << files.log;
    if (index == Index::present) std::ofstream(path.string() + "-shm", std::ios::binary) << files.index;
    return path;
}

// The frames of the log, as its bytes say. A frame that ends a commit has the size of the database.
std::vector<bool> commitFrames(const std::string& log) {
    std::vector<bool> ends;
    for (std::size_t at = header_size; at + frame_size <= log.size(); at += frame_size)
        ends.push_back(log.substr(at + 4, 4) != std::string(4, '\0'));
    return ends;
}

// SQLite's own opinion, and how many commits it finds, of a copy.
unsigned commitsOf(const TemporaryFolder& folder, const Files& files) {
    Raw raw(store(folder, files, Index::absent));
    CHECK(raw.number("SELECT integrity_check='ok' FROM pragma_integrity_check") == 1);
    return static_cast<unsigned>(raw.number("SELECT count(*) FROM commits WHERE thread=CAST('t' AS BLOB)"));
}

// The file as it is now opens beside those that have it open, and copies of it as after the end of all of them.
void checkOpens(const TemporaryFolder& folder, const fs::path& path, unsigned commits) {
    CHECK(openingError(path).empty());
    CHECK(openingError(path, {.read_only = true}).empty());
    const Files files = filesOf(path);
    for (const Index index : {Index::absent, Index::present}) CHECK(openingError(store(folder, files, index)).empty());
    CHECK(commitsOf(folder, files) >= commits);
}

}  // namespace

TEST_CASE("helper: dies while it stores a large commit in a SQLite file" * doctest::skip()) {
    const std::string path = given("STATEGRAPH_TEST_DATABASE");
    if (path.empty()) return;
    FailingVfs files;
    SqliteSaver saver(path);
    const auto newest = static_cast<unsigned>(listIds(saver, where).size());
    files.killAt(std::stoi(given("STATEGRAPH_TEST_NUMBER")));
    putOne(saver, where, before(newest + 1), large(newest + 1), true);
    files.killAt(0);
    std::ofstream(given("STATEGRAPH_TEST_NOTES")) << "stored\n";
}

TEST_CASE("what writers leave in a log that are killed at any write of a large commit is no damage") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    SqliteSaver saver(path.string());
    putLine(saver, where, 3);
    unsigned stored = 3;
    bool is_whole = false;
    for (int nth = 1; !is_whole; ++nth) {
        CAPTURE(nth);
        REQUIRE(nth < 100);
        Helper("helper: dies while it stores a large commit in a SQLite file", path, folder / "notes", nth).wait();
        is_whole = fs::exists(folder / "notes");
        stored += is_whole;
        checkOpens(folder, path, stored);
        putOne(saver, where, nthId(stored), small(stored + 1));
        ++stored;
        checkOpens(folder, path, stored);
        CHECK(listIds(saver, where).size() == stored);
    }
}

TEST_CASE("a commit whose fsync failed may be stored or not, as its error says, and is no damage") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    FailingVfs files;
    SqliteSaver saver(path.string());
    putLine(saver, where, 3);
    for (unsigned stored = 3; stored < 8; ++stored) {
        CAPTURE(stored);
        files.failSync();
        const std::string said = databaseError([&] { putOne(saver, where, nthId(stored), large(stored + 1), true); });
        CHECK(files.hasFailed());
        CHECK_HAS(said, "SaverError");
        CHECK_HAS(said, "may or may not have been stored");
        CHECK_FALSE(has(said, "nothing of this was stored"));
        CHECK(listIds(saver, where).size() == stored);
        CHECK(commitsOf(folder, filesOf(path)) == stored + 1);  // as if the process had died now
        checkOpens(folder, path, stored);
        putOne(saver, where, nthId(stored), small(stored + 1), true);
        CHECK(commitsOf(folder, filesOf(path)) == stored + 1);
        checkOpens(folder, path, stored + 1);
    }
}

TEST_CASE("a flipped bit is damage if a commit behind it was stored, also where a log has remains of failed writers") {
    const TemporaryFolder folder;
    Files files;
    {
        const fs::path path = folder / "a.db";
        FailingVfs failing;
        SqliteSaver saver(path.string());
        Raw(path).run("PRAGMA wal_checkpoint(TRUNCATE)");
        unsigned stored = 0;
        for (; stored < 4; ++stored)
            putOne(saver, where, before(stored + 1), stored % 2 == 0 ? small(stored + 1) : large(stored + 1));
        files = filesOf(path);
        const std::vector<bool> ends = commitFrames(files.log);
        REQUIRE(ends.size() > 10);
        REQUIRE(ends.back());
        SUBCASE("none") {}
        SUBCASE("of one whose fsync failed") {
            failing.failSync();
            const TestCommit lost = makeCommit(stored + 1, stored, 0, std::string(60'000, 'y'));
            CHECK_FALSE(databaseError([&] { putOne(saver, where, nthId(stored), lost, true); }).empty());
            ++stored;
            putOne(saver, where, before(stored), small(stored));
            const Files more = filesOf(path);
            REQUIRE(more.log.size() > files.log.size() + 5 * frame_size);
            files = more;
        }
    }
    // The frames that belong to the log: those up to the last commit that SQLite finds.
    const unsigned commits = commitsOf(folder, files);
    std::vector<bool> ends = commitFrames(files.log);
    unsigned seen = 0;
    std::size_t frames = 0;
    for (; seen < commits; ++frames) seen += ends[frames];
    ends.resize(frames);
    const auto last_begins =
        static_cast<std::size_t>(std::distance(ends.begin(), std::find(ends.rbegin() + 1, ends.rend(), true).base()));
    for (std::size_t frame = 0; frame < frames; ++frame) {
        for (const std::size_t inside : {std::size_t{2}, std::size_t{9}, std::size_t{17}, std::size_t{2000}}) {
            CAPTURE(frame);
            CAPTURE(inside);
            Files damaged = files;
            damaged.log[header_size + frame * frame_size + inside] ^= 0x10;
            // Without the index of the log, nothing tells the frames of its last commit from remains.
            const std::string alone = openingError(store(folder, damaged, Index::absent));
            CHECK(alone.empty() == (frame >= last_begins));
            if (!alone.empty()) CHECK_HAS(alone, "CorruptCheckpointError");
            const std::string with_index = openingError(store(folder, damaged, Index::present));
            CHECK(with_index.empty() == (frame + 1 == frames));
        }
    }
}
