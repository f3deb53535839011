// A store in a SQLite file: what opening refuses, files that it shares with savers, several processes, and
// disks that fail. tests/store has the tests for all stores.
#include <stategraph/sqlite_store.hpp>
#include <stategraph/store_cache.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/sqlite_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "storage/sqlite/sqlite_tables.hpp"

#include "tests/storage/sqlite/failing_vfs.hpp"
#include "tests/storage/sqlite/sqlite_helper.hpp"
#include "tests/storage/store/shared_items.hpp"
#include "tests/storage/store/stores.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sg = stategraph;
using namespace stategraph;
using sqlite_tests::awaitLines;
using sqlite_tests::databaseError;
using sqlite_tests::given;
using sqlite_tests::Helper;
using sqlite_tests::Raw;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Doc = std::map<std::string, std::string>;

namespace {

std::string storeError(const fs::path& path, const SqliteStoreOptions& options = {}) {
    return databaseError([&] { const SqliteStore store(path.string(), {}, options); });
}

std::vector<std::string> contents(BaseStore& store) {
    std::vector<std::string> out;
    for (const auto& item : store.search({.limit = 1000, .refresh_ttl = false})) {
        out.push_back(under_test::nameOf(item) + " " + item.value.toJson() + " " +
                      std::to_string(item.created_at.time_since_epoch().count()));
    }
    return out;
}

}  // namespace

TEST_CASE("helper: changes shared items of a SQLite file" * doctest::skip()) {
    const std::string path = given("STATEGRAPH_TEST_DATABASE");
    if (path.empty()) return;
    SqliteStore store(path, shared_items::options(), {.busy_timeout = 2min});  // a busy disk may delay a commit
    shared_items::mix(store, static_cast<unsigned>(std::stoul(given("STATEGRAPH_TEST_NUMBER"))), 300);
}

TEST_CASE("helper: puts pairs into a SQLite file without an end" * doctest::skip()) {
    const std::string path = given("STATEGRAPH_TEST_DATABASE");
    if (path.empty()) return;
    SqliteStore store(path);
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    notes << "ready\n" << std::flush;
    shared_items::putPairs(store, notes);
}

TEST_CASE("processes that put and remove the same items of a SQLite file leave no row of an item that is not there") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    {
        // They also create the file and its tables at the same time.
        const char* const name = "helper: changes shared items of a SQLite file";
        Helper one(name, path, folder / "notes", 1);
        Helper two(name, path, folder / "notes", 2);
        Helper three(name, path, folder / "notes", 3);
        CHECK(one.wait() == 0);
        CHECK(two.wait() == 0);
        CHECK(three.wait() == 0);
    }
    std::this_thread::sleep_for(2ms);  // sleeps: items with a lifetime of 1 ms have expired
    SqliteStore store(path.string(), shared_items::options());
    CHECK(store.batch({SearchQuery{.query = "xxx"}})[0].damaged.empty());
    shared_items::removeAll(store);
    CHECK(Raw(path).number("SELECT count(*) FROM store") == 0);
}

TEST_CASE("what a store confirmed to a killed process is in the SQLite file, and batches are whole") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    for (int round = 0; round < 4; ++round) {
        CAPTURE(round);
        const fs::path notes = folder / ("notes" + std::to_string(round));
        Helper helper("helper: puts pairs into a SQLite file without an end", path, notes);
        awaitLines(notes, 2);
        // sleeps: the moment differs from round to round
        std::this_thread::sleep_for(std::chrono::milliseconds(15 + 17 * round));
        helper.kill();
        SqliteStore store(path.string());
        shared_items::checkPairs(store, notes);
    }
}

TEST_CASE("saver, store and cache share a SQLite file, at the same time too") {
    // [begin one file]
    const auto saver = std::make_shared<sg::SqliteSaver>("threads.db");
    const auto store = std::make_shared<sg::SqliteStore>("threads.db");
    const auto cache = std::make_shared<sg::StoreCache>(store);
    // [end one file]
    {
        // A busy machine may pause the thread that has the file for longer than the default busy_timeout.
        constexpr std::chrono::minutes patience(5);
        sg::SqliteSaver saves("threads.db", {.busy_timeout = patience});
        sg::SqliteStore stores("threads.db", {}, {.busy_timeout = patience});
        sg::StoreCache caches(std::make_shared<sg::SqliteStore>("threads.db", sg::StoreOptions(),
                                                                sg::SqliteStoreOptions{.busy_timeout = patience}));
        std::vector<std::jthread> threads;
        threads.emplace_back([&] { testing::putLine(saves, {"t"}, 50); });
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) stores.put({"n"}, std::to_string(i), Doc{{"v", "x"}});
        });
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) caches.set("n", std::to_string(i), "value", {});
        });
    }
    CHECK(testing::listIds(*saver, {"t"}).size() == 50);
    CHECK(saver->list({}).size() == 50);
    CHECK(store->search({.limit = 200}).size() == 100);
    cache->clear();
    CHECK_FALSE(cache->get("n", "1"));
    saver->deleteThread("t");
    CHECK(store->search({.limit = 100}).size() == 50);
    SqliteStore reader("threads.db", {}, {.read_only = true});
    CHECK(reader.search({.limit = 100}).size() == 50);
    for (const char* const file : {"threads.db", "threads.db-wal", "threads.db-shm"}) fs::remove(file);
}

TEST_CASE("a store opens a SQLite file that has threads alone, and says what a file lacks that it may not change") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    {
        SqliteSaver saver(path.string());
        testing::putLine(saver, {"t"}, 2);
    }
    CHECK_HAS(storeError(path, {.read_only = true}), "StoreError: cannot open the database");
    CHECK_HAS(storeError(path, {.read_only = true}), "it has no store");
    CHECK_HAS(storeError(path, {.create_if_missing = false}), "it has no store");
    CHECK(storeError(path).empty());
    CHECK(storeError(path, {.create_if_missing = false}).empty());
    CHECK(storeError(path, {.read_only = true}).empty());
    CHECK(SqliteSaver(path.string()).list({}).size() == 2);
    CHECK_HAS(storeError(folder / "b.db", {.read_only = true}), "there is none");
    CHECK_HAS(storeError(folder / "b.db", {.create_if_missing = false}), "there is none");
    CHECK_FALSE(fs::exists(folder / "b.db"));
}

TEST_CASE("a store of a newer format in a SQLite file is an error, and its threads are not") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    { const SqliteStore store(path.string()); }
    Raw(path).run("UPDATE parts SET format=2");
    for (const bool read_only : {false, true}) {
        CHECK_HAS(storeError(path, {.read_only = read_only}), "CorruptStoreError");
        CHECK_HAS(storeError(path, {.read_only = read_only}), "a store of format 2, newer than this library's 1");
    }
    CHECK(sqlite_tests::openingError(path).empty());
    Raw(path).run("PRAGMA user_version=9");
    CHECK_HAS(storeError(path), "CorruptStoreError");
    CHECK_HAS(storeError(path), "format 9, newer");
}

TEST_CASE("impossible options of a store in a SQLite file are errors, and no file is made") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    CHECK_HAS(storeError(path, {.busy_timeout = -1ms}), "InvalidArgumentError: busy_timeout is -1 ms");
    CHECK_HAS(storeError(path, {.readers_max = 0}), "readers_max is 0");
    CHECK_HAS(storeError(path, {.read_only = true, .drop_damaged_log = true}), "drop_damaged_log");
    CHECK_HAS(databaseError([&] { SqliteStore(path.string(), {.default_ttl = -5ms}); }), "default_ttl");
    CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a store that reads a SQLite file alone sees a writer's items, refreshes nothing and refuses to write") {
    const TemporaryFolder folder;
    const std::string path = (folder / "a.db").string();
    StoreOptions options;
    const auto clock = std::make_shared<under_test::StoreClock>();
    options.clock = clock;
    SqliteStore writer(path, options);
    writer.put({"n"}, "a", Doc{}, {.ttl = 10ms});
    SqliteStore reader(path, options, {.read_only = true});
    clock->pass(9);
    CHECK(reader.get({"n"}, "a").has_value());
    writer.put({"n"}, "b", Doc{});
    CHECK(reader.search({}).size() == 2);
    CHECK_HAS(databaseError([&] { reader.put({"n"}, "a", Doc{}); }), "StoreError: the database");
    CHECK_HAS(databaseError([&] { reader.remove({"n"}, "a"); }), "open read_only");
    CHECK_HAS(databaseError([&] { reader.sweep(); }), "open read_only");
    clock->pass(1);
    CHECK_FALSE(reader.get({"n"}, "a"));
}

TEST_CASE("a put that waits for another program's for longer than busy_timeout is a StoreError, and stores nothing") {
    const TemporaryFolder folder;
    SqliteStore store((folder / "a.db").string(), {}, {.busy_timeout = 20ms});
    store.put({"n"}, "a", Doc{{"v", "1"}}, {.ttl = 1h});
    Raw other(folder / "a.db");
    other.run("BEGIN IMMEDIATE");
    const std::string said = databaseError([&] { store.put({"n"}, "a", Doc{{"v", "2"}}); });
    CHECK_HAS(said, "StoreError");
    CHECK_HAS(said, "raise busy_timeout");
    CHECK(store.get<Doc>({"n"}, "a") == Doc{{"v", "1"}});  // and its lifetime is not extended
    other.run("ROLLBACK");
    store.put({"n"}, "a", Doc{{"v", "2"}});
    CHECK(store.get<Doc>({"n"}, "a") == Doc{{"v", "2"}});
}

TEST_CASE("a store on a full disk stores nothing more, reads on, and puts again when there is room") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    SqliteStore store(path.string());
    const Doc value{{"text", std::string(50'000, 'x')}};
    store.put({"n"}, "timed", value, {.ttl = 1h});
    int stored = 0;
    {
        const sqlite_tests::FileSizeLimit limit(fs::file_size(path.string() + "-wal") + 400'000);
        std::string said;
        while (said.empty() && stored < 100) {
            said = databaseError([&] { store.put({"n"}, std::to_string(stored), value); });
            stored += said.empty();
        }
        CHECK_HAS(said, "StoreError");
        CHECK_HAS(said, path.string());
        CHECK_HAS(said, "nothing of this was stored");
        CHECK(stored > 0);
        CHECK(store.search({.limit = 1000}).size() == static_cast<std::size_t>(stored) + 1);  // and extends no lifetime
        CHECK(store.get({"n"}, "timed").has_value());
    }
    store.put({"n"}, "again", value);
    CHECK(store.search({.limit = 1000}).size() == static_cast<std::size_t>(stored) + 2);
}

TEST_CASE("a SQLite store of which any one write or sync fails has done all of a batch or nothing, and continues") {
    sqlite_tests::FailingVfs files;
    int failures = 0;
    for (int nth = 1;; ++nth) {
        CAPTURE(nth);
        const TemporaryFolder folder;
        const std::string path = (folder / "a.db").string();
        StoreOptions options = shared_items::options();
        const auto clock = std::make_shared<under_test::StoreClock>();
        options.clock = clock;
        std::vector<std::string> after;
        bool has_failed = false;
        {
            SqliteStore store(path, options, {.sync = true});
            store.put({"a"}, "1", Doc{{"n", "1"}}, {.ttl = 1ms});
            store.put({"a"}, "2", Doc{{"n", "2"}}, {.ttl = 1000ms});
            store.put({"a"}, "3", Doc{{"n", "3"}});
            clock->pass(2);
            const auto before = contents(store);
            const auto change = [&] {
                store.batch({PutOp{{"a"}, "2", Value(Doc{{"n", "20"}}), {.ttl = 5000ms}}, PutOp{{"a"}, "3", {}, {}},
                             PutOp{{"b"}, "4", Value(Doc{{"n", std::string(20'000, 'x')}}), {}}, SearchQuery{}});
            };
            files.failAt(nth, nth % 2 == 0 ? SQLITE_FULL : SQLITE_IOERR_WRITE);
            const std::string said = databaseError(change);
            has_failed = files.hasFailed();
            files.failAt(0);
            if (!said.empty()) {
                CHECK_HAS(said, "StoreError: the database '" + path);
                CHECK(contents(store) == before);
            }
            failures += said.empty() ? 0 : 1;
            change();
            after = contents(store);
            CHECK(after.size() == 2);
        }
        SqliteStore again(path, options);
        CHECK(contents(again) == after);
        if (!has_failed) break;
    }
    CHECK(failures > 5);
}

TEST_CASE("a damaged row of a SQLite store is an error of its item alone, and a put is the cure") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    {
        SqliteStore store(path.string());
        for (const char* const key : {"1", "2", "3"}) store.put({"n"}, key, Doc{{"k", key}});
    }
    Raw(path).run("UPDATE store SET value=substr(value, 1, length(value) - 1) WHERE substr(key, -1)=CAST('2' AS BLOB)");
    SqliteStore store(path.string());
    CHECK_HAS(databaseError([&] { store.get({"n"}, "2"); }), "CorruptStoreError: the item '2' in namespace 'n'");
    const auto found = store.batch({SearchQuery{}});
    CHECK(found[0].items.size() == 2);
    CHECK(found[0].damaged.size() == 1);
    store.put({"n"}, "2", Doc{{"k", "new"}});
    CHECK(store.get<Doc>({"n"}, "2") == Doc{{"k", "new"}});
}

TEST_CASE("the documents show the tables of stores in a SQLite file as they are made") {
    std::ifstream file(STATEGRAPH_TESTS_DIR "/../docs/checkpoint_format.md");
    const std::string document((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (const char* const tables : {checkpoint::sqlite_parts, checkpoint::sqlite_store_tables})
        CHECK(sqlite_tests::has(document, tables));
}
