// Several processes with stores on one PostgreSQL server, some killed or frozen, and a server that crashes.
#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_store.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/storage/store/shared_items.hpp"
#include "tests/support/helper_process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

using namespace stategraph;
using namespace postgres_tests;
using helpers::awaitLines;
using helpers::given;
using helpers::Helper;
using namespace std::chrono_literals;
using Doc = std::map<std::string, std::string>;

namespace {

// `database` is a connection string, "#" and a schema.
std::unique_ptr<PostgresStore> openFor(const std::string& database, const StoreOptions& options = {},
                                       std::chrono::milliseconds timeout = 5min) {
    const std::size_t at = database.find('#');
    return std::make_unique<PostgresStore>(
        database.substr(0, at), options,
        patient<PostgresStoreOptions>(
            {.schema = database.substr(at + 1), .set_up = true, .statement_timeout = timeout}));
}

}  // namespace

TEST_CASE("helper: changes shared items of a PostgreSQL store" * doctest::skip()) {
    const std::string database = given("STATEGRAPH_TEST_DATABASE");
    if (database.empty()) return;
    const auto store = openFor(database, shared_items::options());
    shared_items::mix(*store, static_cast<unsigned>(std::stoul(given("STATEGRAPH_TEST_NUMBER"))), 200);
}

TEST_CASE("helper: puts pairs into a PostgreSQL store without an end" * doctest::skip()) {
    const std::string database = given("STATEGRAPH_TEST_DATABASE");
    if (database.empty()) return;
    const std::chrono::milliseconds timeout(std::stoi(given("STATEGRAPH_TEST_NUMBER")));
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    for (std::unique_ptr<PostgresStore> store;;) {
        try {
            if (!store) {
                store = openFor(database, {}, timeout);
                notes << "ready\n" << std::flush;
            }
            shared_items::putPairs(*store, notes);
        } catch (const StoreError&) {  // it was frozen, or the machine was busy, for longer than a statement may take
        }
    }
}

TEST_CASE("processes that put and remove the same items of PostgreSQL leave no row of an item that is not there") {
    const Schema schema;
    const TemporaryFolder folder;
    {
        // They also create the schema and its tables at the same time.
        const char* const name = "helper: changes shared items of a PostgreSQL store";
        const std::string database = conninfo() + "#" + schema.name();
        Helper one(name, database, folder / "notes", 1);
        Helper two(name, database, folder / "notes", 2);
        Helper three(name, database, folder / "notes", 3);
        CHECK(one.wait() == 0);
        CHECK(two.wait() == 0);
        CHECK(three.wait() == 0);
    }
    std::this_thread::sleep_for(2ms);  // sleeps: items with a lifetime of 1 ms have expired
    const auto store = schema.openStore(shared_items::options());
    CHECK(store->batch({SearchQuery{.query = "xxx"}})[0].damaged.empty());
    shared_items::removeAll(*store);
    CHECK(Raw().run("SELECT count(*) FROM " + schema.name() + ".store") == "0");
}

TEST_CASE("what a store confirmed to a killed process is in PostgreSQL, and batches are whole") {
    const Schema schema;
    const TemporaryFolder folder;
    for (int round = 0; round < 3; ++round) {
        CAPTURE(round);
        const fs::path notes = folder / ("notes" + std::to_string(round));
        Helper helper("helper: puts pairs into a PostgreSQL store without an end", conninfo() + "#" + schema.name(),
                      notes, 30'000);
        awaitLines(notes, 3);
        // sleeps: the moment differs from round to round
        std::this_thread::sleep_for(std::chrono::milliseconds(15 + 17 * round));
        helper.kill();
        shared_items::checkPairs(*schema.openStore(), notes);
    }
}

TEST_CASE("a server that crashes under a store's writers loses no put with sync, and they continue") {
    Server server;
    const std::string info = server.conninfo();
    PostgresStore store(info, {}, patient<PostgresStoreOptions>({.set_up = true, .sync = true}));
    std::atomic<bool> is_done{false};
    std::atomic<int> stored{0};
    std::vector<std::string> said;
    std::thread writer([&] {
        for (int n = 0; !is_done; ++n) {
            const std::string error = databaseError([&] {
                store.batch({PutOp{{"first"}, std::to_string(n), Value(Doc{}), {}},
                             PutOp{{"second"}, std::to_string(n), Value(Doc{}), {}}});
            });
            if (!error.empty()) {
                said.push_back(error);
                --n;  // the pair is put again
            } else {
                stored = n + 1;
            }
        }
    });
    for (int round = 0; round < 2; ++round) {
        const int before = stored;
        patience::until([&] { return stored >= before + 20; });
        server.down();
        server.up();
    }
    const int before = stored;
    patience::until([&] { return stored >= before + 20; });
    is_done = true;
    writer.join();
    for (const std::string& error : said) CHECK_MESSAGE(has(error, "StoreError"), error);
    for (const char* const ns : {"first", "second"}) {
        std::set<std::string> keys;
        for (const auto& item : store.search({.namespace_prefix = {ns}, .limit = 10'000})) keys.insert(item.key);
        int missing = 0;
        for (int n = 0; n < stored; ++n) missing += keys.count(std::to_string(n)) == 0;
        CHECK(missing == 0);
    }
}

TEST_CASE("a process that is frozen in the midst of a put holds up others no longer than a put may take") {
    const Schema schema;
    const TemporaryFolder folder;
    (void)schema.openStore();
    Helper helper("helper: puts pairs into a PostgreSQL store without an end", conninfo() + "#" + schema.name(),
                  folder / "notes", 3000);
    awaitLines(folder / "notes", 3);
    const auto store = schema.openStore({}, {.statement_timeout = 5min});
    std::vector<StoreOp> puts;  // enough that one of them waits for whatever the process has locked
    for (int i = 0; i < 2000; ++i) puts.push_back(PutOp{{"n"}, std::to_string(i), Value(Doc{}), {}});
    for (int round = 0; round < 6; ++round) {
        helper.freeze();
        CHECK(databaseError([&] { store->batch(puts); }).empty());
        helper.thaw();
        // sleeps: the moment differs from round to round
        std::this_thread::sleep_for(std::chrono::milliseconds(3 + 5 * round));
    }
    helper.kill();
    CHECK(store->search({.namespace_prefix = {"n"}, .limit = 10'000}).size() == 2000);
    shared_items::checkPairs(*store, folder / "notes");
}
