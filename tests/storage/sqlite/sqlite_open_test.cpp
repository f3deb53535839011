// What opening a SQLite file refuses, and changes to a file that is open.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <stategraph/sqlite_saver.hpp>
#include <stategraph/testing/saver_contract/index_summaries.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "storage/sqlite/sqlite_tables.hpp"

#include "tests/storage/sqlite/sqlite_helper.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace sqlite_tests;
using namespace stategraph;
using namespace stategraph::testing;

namespace {

void makeFile(const fs::path& path) {
    SqliteSaver saver(path.string());
    putLine(saver, {"t"}, 3);
}

}  // namespace

TEST_CASE("a missing SQLite file is made, or is an error") {
    const TemporaryFolder folder;
    CHECK_HAS(openingError(folder / "a.db", {.create_if_missing = false}), "SaverError: cannot open the database");
    CHECK_HAS(openingError(folder / "a.db", {.create_if_missing = false}), "there is none");
    CHECK_HAS(openingError(folder / "a.db", {.read_only = true}), "there is none");
    CHECK_FALSE(fs::exists(folder / "a.db"));
    CHECK(openingError(folder / "deep/down/a.db").empty());
    CHECK(openingError(folder / "a.db").empty());
    CHECK(openingError(folder / "a.db", {.create_if_missing = false}).empty());
    CHECK_HAS(openingError(""), "the path is empty");
    CHECK_HAS(openingError(std::string("a\0b", 3)), "value 0");
}

TEST_CASE(
    "a SQLite file, what is next to it and its folders are for their owner alone, unless the umask is to decide") {
    const TemporaryFolder folder;
    const mode_t before = ::umask(0);
    const auto rights = [](const fs::path& path) { return fs::status(path).permissions(); };
    {
        SqliteSaver saver((folder / "own/deep/a.db").string());
        const auto hold = saver.tryHold("t");
        for (const char* end : {"", "-wal", "-shm", "-threads"}) {
            CAPTURE(end);
            CHECK(rights((folder / "own/deep/a.db").string() + end) ==
                  (fs::perms::owner_read | fs::perms::owner_write));
        }
        CHECK(rights(folder / "own") == fs::perms::owner_all);
        CHECK(rights(folder / "own/deep") == fs::perms::owner_all);
        const SqliteSaver shared((folder / "all/a.db").string(), {.owner_only = false});
        CHECK((rights(folder / "all/a.db") & fs::perms::others_read) != fs::perms::none);
    }
    ::umask(before);
}

TEST_CASE("a SQLite file with two names is refused for writing, and can be read") {
    const TemporaryFolder folder;
    makeFile(folder / "a.db");
    fs::create_hard_link(folder / "a.db", folder / "b.db");
    CHECK_HAS(openingError(folder / "a.db"), "the file has more than one name (hard links)");
    CHECK_HAS(openingError(folder / "b.db"), "the file has more than one name (hard links)");
    CHECK(openingError(folder / "b.db", {.read_only = true}).empty());
    fs::remove(folder / "b.db");
    CHECK(openingError(folder / "a.db").empty());
}

TEST_CASE("links that lead in a circle are an error that says so") {
    const TemporaryFolder folder;
    fs::create_symlink(folder / "a.db", folder / "b.db");
    fs::create_symlink(folder / "b.db", folder / "a.db");
    CHECK_HAS(openingError(folder / "a.db"), "Too many levels of symbolic links");
}

TEST_CASE("a SQLite file that cannot be opened because too many files are open is an error that says so") {
    const TemporaryFolder folder;
    SqliteSaver saver((folder / "a.db").string());
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    rlimit lowered = limit;
    const int free = ::open("/dev/null", O_RDONLY);
    REQUIRE(free >= 0);
    ::close(free);
    lowered.rlim_cur = static_cast<rlim_t>(free);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &lowered) == 0);
    std::string error;
    try {
        (void)saver.list({});  // opens the first connection for reading
    } catch (const SaverError& thrown) {
        error = thrown.what();
    }
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK_HAS(error, "ulimit -n");
    CHECK(saver.list({}).empty());
}

TEST_CASE("a path that is something else than stategraph's SQLite file is an error and is left as it is") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "folder");
    CHECK_HAS(openingError(folder / "folder"), "it is a folder");
    std::ofstream(folder / "text") << std::string(5000, 'x');
    CHECK_HAS(openingError(folder / "text"), "file is not a database");
    CHECK(fs::file_size(folder / "text") == 5000);
    CHECK_HAS(openingError(folder / "text/a.db"), "cannot open the database");
    {
        Raw raw(folder / "other.db");
        raw.run("CREATE TABLE contacts (name TEXT)");
    }
    CHECK_HAS(openingError(folder / "other.db"), "SQLite database of something else");
    CHECK_HAS(openingError(folder / "other.db", {.read_only = true}), "SQLite database of something else");
    CHECK_FALSE(fs::exists(folder / "other.db-wal"));
    std::ofstream(folder / "empty") << "";
    CHECK_HAS(openingError(folder / "empty", {.read_only = true}), "it is empty");
    CHECK(openingError(folder / "empty").empty());
}

TEST_CASE("a SQLite file of a newer format is an error that says so") {
    const TemporaryFolder folder;
    makeFile(folder / "a.db");
    Raw(folder / "a.db").run("PRAGMA user_version=3");
    for (const bool read_only : {false, true}) {
        const std::string said = openingError(folder / "a.db", {.read_only = read_only});
        CHECK_HAS(said, "CorruptCheckpointError");
        CHECK_HAS(said, "format 3, newer than this library's 1");
    }
    Raw(folder / "a.db").run("PRAGMA user_version=0");
    CHECK_HAS(openingError(folder / "a.db"), "format version or its tables cannot be read");
    Raw(folder / "a.db").run("PRAGMA user_version=1");
    CHECK(openingError(folder / "a.db").empty());
}

TEST_CASE("impossible options of a SQLite saver are errors that name them") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    CHECK_HAS(openingError(path, {.busy_timeout = std::chrono::milliseconds(-1)}), "busy_timeout is -1 ms");
    CHECK_HAS(openingError(path, {.readers_max = 0}), "readers_max is 0");
    CHECK_HAS(openingError(path, {.readers_max = 65}), "readers_max is 65");
    CHECK_HAS(openingError(path, {.read_only = true, .drop_damaged_log = true}), "drop_damaged_log");
    CHECK_HAS(openingError(path, {.read_only = true, .retention = RetentionOptions{.keep_last = 1}}), "retention");
    CHECK_FALSE(fs::exists(path));
}

TEST_CASE("what a process began that died while it made the SQLite file is undone by the next one that may write") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    {
        Raw raw(folder / "begun.db");
        // The transaction exceeds SQLite's cache, so that its journal and its pages are in files, as a dead process
        // leaves them.
        raw.run("PRAGMA cache_size=2; CREATE TABLE t (bytes BLOB); BEGIN");
        for (int i = 0; i < 50; ++i) raw.run("INSERT INTO t VALUES (randomblob(4000))");
        fs::copy_file(folder / "begun.db", path);
        fs::copy_file(folder / "begun.db-journal", folder / "a.db-journal");
        raw.run("ROLLBACK");
    }
    CHECK_HAS(openingError(path, {.read_only = true}), "open it once without read_only");
    CHECK_HAS(openingError(path), "SQLite database of something else");  // this shows that it could be read again
    CHECK_HAS(openingError(path, {.read_only = true}), "SQLite database of something else");
}

TEST_CASE("a SQLite file that is open read_only is read, also next to a writer, and not changed") {
    const TemporaryFolder folder;
    makeFile(folder / "a.db");
    SqliteSaver reader((folder / "a.db").string(), {.read_only = true});
    SqliteSaver writer((folder / "a.db").string());
    CHECK(listIds(reader, {"t"}).size() == 3);
    putOne(writer, {"t"}, nthId(3), makeCommit(4, 3));
    CHECK(listIds(reader, {"t"}).size() == 4);
    CHECK(reader.getTuple({.log = {"t"}})->head == nthId(4));
    CHECK_HAS(databaseError([&] { putOne(reader, {"t"}, nthId(4), makeCommit(5, 4)); }), "it is open read_only");
    CHECK_HAS(databaseError([&] { reader.deleteThread("t"); }), "it is open read_only");
    CHECK_HAS(databaseError([&] { reader.prune({.keep_last = 1}); }), "it is open read_only");
    CHECK_HAS(databaseError([&] { reader.copyThread("t", "u"); }), "it is open read_only");
}

TEST_CASE("a SQLite file that is deleted or replaced while it is open takes no more writes") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    SqliteSaver saver(path.string());
    putLine(saver, {"t"}, 2);
    fs::rename(path, folder / "b.db");
    CHECK_HAS(databaseError([&] { putOne(saver, {"t"}, nthId(2), makeCommit(3, 2)); }), "the file was deleted");
    std::ofstream(path) << "";
    CHECK_HAS(databaseError([&] { putOne(saver, {"t"}, nthId(2), makeCommit(3, 2)); }),
              "another file has taken its place");
    CHECK_HAS(databaseError([&] { putOne(saver, {"t"}, nthId(2), makeCommit(3, 2)); }), "thread 't'");
    fs::remove(path);
    fs::rename(folder / "b.db", path);
    putOne(saver, {"t"}, nthId(2), makeCommit(3, 2));
}

TEST_CASE(
    "a write that waits for another program's for longer than busy_timeout is an error, and the next one is not") {
    const TemporaryFolder folder;
    SqliteSaver saver((folder / "a.db").string(), {.busy_timeout = std::chrono::milliseconds(20)});
    putLine(saver, {"t"}, 2);
    Raw other(folder / "a.db");
    other.run("BEGIN IMMEDIATE");
    const std::string said = databaseError([&] { putOne(saver, {"t", "child"}, {}, makeCommit(1, 0)); });
    CHECK_HAS(said, "SaverError");
    CHECK_HAS(said, "raise busy_timeout");
    CHECK_HAS(said, "'t'");
    CHECK(listIds(saver, {"t"}).size() == 2);  // reads do not wait
    other.run("ROLLBACK");
    putOne(saver, {"t", "child"}, {}, makeCommit(1, 0));
}

TEST_CASE("writes that wait together are stored together, and one that is refused refuses no other") {
    const TemporaryFolder folder;
    SqliteSaver saver((folder / "a.db").string(), {.busy_timeout = std::chrono::minutes(5)});
    constexpr unsigned count = 100;  // more than one transaction covers
    for (unsigned i = 0; i < count; ++i) putLine(saver, {"t" + std::to_string(i)}, 1);
    Raw other(folder / "a.db");
    other.run("BEGIN IMMEDIATE");
    std::vector<std::thread> threads;
    std::atomic<unsigned> refused = 0;
    for (unsigned i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            try {
                putOne(saver, {"t" + std::to_string(i)}, nthId(i % 10 == 0 ? 7 : 1), makeCommit(8, 1), i % 2 == 0);
            } catch (const ConcurrentUpdateError&) {
                ++refused;
            }
        });
    }
    // sleeps: usually enough; what is checked holds in any case
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    other.run("ROLLBACK");
    for (auto& thread : threads) thread.join();
    CHECK(refused == count / 10);
    for (unsigned i = 0; i < count; ++i)
        CHECK(listIds(saver, {"t" + std::to_string(i)}).size() == (i % 10 == 0 ? 1 : 2));
}

TEST_CASE("more calls than readers_max read one after the other") {
    const TemporaryFolder folder;
    SqliteSaver saver((folder / "a.db").string(), {.readers_max = 1});
    putLine(saver, {"t"}, 20);
    std::atomic<unsigned> right = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 50; ++n) right += listIds(saver, {"t"}).size() == 20;
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(right == 400);
}

TEST_CASE("the documents show the tables as they are made") {
    std::ifstream file(STATEGRAPH_TESTS_DIR "/../docs/checkpoint_format.md");
    const std::string document((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    CHECK(has(document, checkpoint::sqlite_tables));
    CHECK(has(document, std::to_string(checkpoint::sqlite_application_id)));
}
