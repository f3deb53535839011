// SECONDS: 70
// A store on a PostgreSQL server: connections that break, set-up, round trips, and large keys and items. tests/store
// has the tests for all stores, postgres_store_processes_test.cpp those with several processes.
#include <stategraph/postgres_store.hpp>
#include <stategraph/store_cache.hpp>

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/testing/saver_contract/support.hpp>

#include "storage/postgres/postgres_parts.hpp"

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/storage/postgres/postgres_proxy.hpp"
#include "tests/storage/store/shared_items.hpp"
#include "tests/storage/store/stores.hpp"
#include "tests/support/enough_time.hpp"

namespace sg = stategraph;
using namespace stategraph;
using namespace postgres_tests;
using namespace std::chrono_literals;
using Doc = std::map<std::string, std::string>;

namespace {

std::string rowsOf(const Schema& schema, const std::string& table = "store") {
    return Raw().run("SELECT count(*) FROM " + schema.name() + "." + table);
}

std::unique_ptr<PostgresStore> openThrough(const Proxy& proxy, const Schema& schema, const StoreOptions& options = {}) {
    return std::make_unique<PostgresStore>(proxy.address(), options,
                                           patient<PostgresStoreOptions>({.schema = schema.name()}));
}

}  // namespace

TEST_CASE("a put whose connection is cut is stored once, wherever that happens") {
    const Schema schema;
    const auto direct = schema.openStore();
    Proxy proxy;
    StoreOptions options;
    const auto clock = std::make_shared<under_test::StoreClock>();
    options.clock = clock;
    // Statements are sent by name: the search for expired items, the locks and reads, the write and its commit.
    for (const char* const at : {"page_of_rows", "lock_rows", "put_rows"}) {
        for (const auto how : {Proxy::Cut::request, Proxy::Cut::reply, Proxy::Cut::wait}) {
            CAPTURE(at);
            CAPTURE(static_cast<int>(how));
            const auto store = openThrough(proxy, schema, options);
            store->put({"n"}, "a", Doc{{"v", "1"}});  // so that all statements are prepared
            const auto begin = store->get({"n"}, "a")->created_at;
            clock->pass(5);
            proxy.cut(how, at);
            store->batch({PutOp{{"n"}, "a", Value(Doc{{"v", "2"}}), {}}, PutOp{{"n"}, "b", Value(Doc{}), {}}});
            CHECK(proxy.hasCut());
            CHECK(direct->get<Doc>({"n"}, "a") == Doc{{"v", "2"}});
            CHECK(direct->get({"n"}, "a")->created_at == begin);
            CHECK(direct->get({"n"}, "b").has_value());
            store->batch({PutOp{{"n"}, "a", {}, {}}, PutOp{{"n"}, "b", {}, {}}});
            CHECK(rowsOf(schema) == "0");
        }
    }
}

TEST_CASE("a put whose answer is lost, and whose item others have put since, is not put over theirs") {
    const Schema schema;
    const auto direct = schema.openStore();
    Proxy proxy;
    const auto store = openThrough(proxy, schema);
    store->put({"n"}, "a", Doc{{"v", "1"}});
    proxy.cut(Proxy::Cut::reply, "put_rows");
    // The other thread puts as soon as it sees the item of this one.
    std::thread other([&] {
        while (direct->get<Doc>({"n"}, "a") != Doc{{"v", "2"}}) std::this_thread::yield();
        direct->put({"n"}, "a", Doc{{"v", "3"}});
    });
    const std::string said = databaseError([&] { store->put({"n"}, "a", Doc{{"v", "2"}}); });
    other.join();
    CHECK(proxy.hasCut());
    // Either the put found its own item, or it reports that it does not know.
    if (!said.empty()) POSTGRES_SAYS(said, "it is not known whether what was put is stored");
    CHECK(direct->get<Doc>({"n"}, "a") == Doc{{"v", "3"}});
}

TEST_CASE("reads whose connection is cut are made once more, and see one moment") {
    const Schema schema;
    const auto direct = schema.openStore();
    std::vector<StoreOp> puts;
    for (int i = 0; i < 300; ++i) puts.push_back(PutOp{{"n"}, std::to_string(1000 + i), Value(Doc{}), {}});
    direct->batch(puts);
    Proxy proxy;
    const auto store = openThrough(proxy, schema);
    CHECK(store->get({"n"}, "1000").has_value());
    CHECK(store->search({.limit = 1000}).size() == 300);
    for (const auto how : {Proxy::Cut::request, Proxy::Cut::reply, Proxy::Cut::wait}) {
        for (const char* const at : {"begin_reading", "page_of_rows"}) {
            proxy.cut(how, at);
            CHECK(store->search({.limit = 1000}).size() == 300);
            CHECK(proxy.hasCut());
        }
        proxy.cut(how, "get_row");
        CHECK(store->get({"n"}, "1000").has_value());
        CHECK(proxy.hasCut());
    }
}

TEST_CASE("a get on PostgreSQL is one round trip, a batch of puts three, and a search of one page two") {
    const Schema schema;
    const auto store = schema.openStore();
    const auto tripsOf = [&](const auto& call) {
        const auto before = store->roundTrips();
        call();
        return store->roundTrips() - before;
    };
    const auto put = [&] {
        store->batch({PutOp{{"n"}, "a", Value(Doc{}), {}}, PutOp{{"n"}, "b", Value(Doc{}), {.ttl = 1h}}});
    };
    const auto get = [&] { (void)store->get({"n"}, "a"); };
    const auto search = [&] { CHECK(store->search({.limit = 1}).size() == 1); };
    for (const bool is_prepared : {false, true}) {
        const auto trips = std::vector<std::uint64_t>{tripsOf(put), tripsOf(get), tripsOf(search)};
        if (is_prepared) CHECK(trips == std::vector<std::uint64_t>{3, 1, 2});
    }
}

TEST_CASE("items whose keys are longer than an index takes are kept and found in order, alike as they may be") {
    const Schema schema;
    const auto store = schema.openStore();
    std::mt19937 random(7);
    const auto bytes = [&](std::size_t size) {
        std::string text;
        while (text.size() < size) text += static_cast<char>('A' + random() % 50);
        return text;
    };
    StoreNamespace deep;
    for (std::size_t i = 0; i < store_limits::labels_max; ++i) deep.push_back(bytes(store_limits::label_bytes_max));
    const std::string stem = bytes(store_limits::key_bytes_max - 2);
    std::vector<std::string> keys;
    for (const char* const end : {"", "a", "b", "ba", "bb", "c"}) {
        keys.push_back(stem + end);
        store->put(deep, keys.back(), Doc{{"end", end}});
    }
    store->put({deep[0]}, "short", Doc{});
    const auto found = store->search({.limit = 100});
    REQUIRE(found.size() == keys.size() + 1);
    CHECK(found[0].key == "short");
    for (std::size_t i = 0; i < keys.size(); ++i) CHECK(found[i + 1].key == keys[i]);
    CHECK(store->get<Doc>(deep, keys[2]) == Doc{{"end", "b"}});
    store->put(deep, keys[2], Doc{{"end", "other"}});
    CHECK(store->get<Doc>(deep, keys[2]) == Doc{{"end", "other"}});
    CHECK(store->listNamespaces().size() == 2);
    shared_items::removeAll(*store);
    CHECK(rowsOf(schema) == "0");
}

TEST_CASE("pages of a PostgreSQL store are bounded by bytes, and a batch of large items is stored and read") {
    const Schema schema;
    const auto store = schema.openStore({}, {.statement_timeout = 5min});
    const std::string large(3'000'000, 'x');
    std::vector<StoreOp> puts;
    for (int i = 0; i < 15; ++i)
        puts.push_back(PutOp{{"n"}, std::to_string(10 + i), Value(Doc{{"text", large + std::to_string(i)}}), {}});
    for (int round = 0; round < 2; ++round) store->batch(puts);  // the second round reads them
    const auto found = store->search({.limit = 100});
    REQUIRE(found.size() == 15);
    for (int i = 0; i < 15; ++i) CHECK(found[static_cast<std::size_t>(i)].as<Doc>().at("text").size() > 3'000'000);
    CHECK(found[14].as<Doc>().at("text") == large + "14");
}

TEST_CASE("saver, store and cache share a PostgreSQL schema, and each is set up by itself") {
    const Schema schema;
    const std::string database = conninfo();
    POSTGRES_SAYS(databaseError([&] { PostgresStore(database, {}, {.schema = schema.name()}); }),
                  "StoreError: cannot open the database 'postgres' at ");
    const std::string name = schema.name();
    // [begin one schema]
    sg::PostgresStore::setUp(database, {.schema = name});
    const auto store =
        std::make_shared<sg::PostgresStore>(database, sg::StoreOptions(), sg::PostgresStoreOptions{.schema = name});
    sg::StoreCache cache(store);
    // [end one schema]
    store->put({"n"}, "k", Doc{{"v", "x"}});
    cache.set("n", "k", "value", {});
    POSTGRES_SAYS(databaseError([&] { PostgresSaver(database, {.schema = name}); }), "PostgresSaver::setUp");
    const auto saver = schema.open();
    testing::putLine(*saver, {"t"}, 2);
    PostgresStore::setUp(database, {.schema = name});
    CHECK(saver->list({}).size() == 2);
    CHECK(store->search({}).size() == 2);
    CHECK(cache.get("n", "k") == "value");
    cache.clear();
    saver->deleteThread("t");
    CHECK(store->search({}).size() == 1);
}

TEST_CASE("what a PostgreSQL store cannot be opened with is an error that names it") {
    const Schema schema;
    const auto refused = [&](const PostgresStoreOptions& options, const std::string& info = conninfo()) {
        return databaseError([&] { PostgresStore(info, {}, options); });
    };
    POSTGRES_SAYS(refused({.schema = schema.name()}), "the schema has no tables of a store; call PostgresStore::setUp");
    POSTGRES_SAYS(refused({.schema = ""}), "InvalidArgumentError: schema ''");
    POSTGRES_SAYS(refused({.connections_max = 0}), "connections_max is 0");
    POSTGRES_SAYS(refused({.set_up = true, .read_only = true}), "set_up");
    POSTGRES_SAYS(refused({.statement_timeout = 0ms}), "statement_timeout is 0 ms");
    POSTGRES_SAYS(databaseError([&] { PostgresStore(conninfo(), {.default_ttl = -5ms}); }), "default_ttl");
    POSTGRES_SAYS(refused({.reconnect_for = 0ms}, "host=/tmp/no-such-server dbname=postgres user=sg"),
                  "StoreError: cannot open the database 'postgres' at /tmp/no-such-server");
    (void)schema.openStore();
    Raw().run("UPDATE " + schema.name() + ".parts SET version = 2");
    POSTGRES_SAYS(refused({.schema = schema.name()}), "CorruptStoreError");
    POSTGRES_SAYS(refused({.schema = schema.name(), .set_up = true}), "a store of version 2, newer than this");
    const Schema odd;
    const std::string name = odd.name() + " it's \"odd\"";
    const PostgresStoreOptions options{.schema = name, .set_up = true};
    PostgresStore store(conninfo(), {}, options);
    store.put({"n"}, "k", Doc{});
    Raw().run("SET client_min_messages=error; DROP SCHEMA \"" + odd.name() + " it's \"\"odd\"\"\" CASCADE");
}

TEST_CASE("a PostgreSQL store that is open read_only reads, refreshes nothing and refuses to write") {
    const Schema schema;
    StoreOptions options;
    const auto clock = std::make_shared<under_test::StoreClock>();
    options.clock = clock;
    const auto writer = schema.openStore(options);
    writer->put({"n"}, "a", Doc{}, {.ttl = 10ms});
    const auto reader = schema.openStore(options, {.read_only = true});
    clock->pass(9);
    CHECK(reader->get({"n"}, "a").has_value());
    CHECK(reader->search({}).size() == 1);
    POSTGRES_SAYS(databaseError([&] { reader->put({"n"}, "a", Doc{}); }), "StoreError: the database 'postgres'");
    POSTGRES_SAYS(databaseError([&] { reader->remove({"n"}, "a"); }), "open read_only");
    POSTGRES_SAYS(databaseError([&] { reader->sweep(); }), "open read_only");
    clock->pass(1);
    CHECK_FALSE(reader->get({"n"}, "a"));
}

TEST_CASE("a put that waits for longer than statement_timeout stores nothing, and the next one works") {
    CHECK(withEnoughTime(1s, [](std::chrono::milliseconds limit) {
        const Schema schema;
        (void)schema.openStore();
        try {
            const auto store = schema.openStore({}, {.statement_timeout = limit});
            store->put({"n"}, "a", Doc{{"v", "1"}});
            Raw other;
            other.run("BEGIN; LOCK TABLE " + schema.name() + ".store IN EXCLUSIVE MODE");
            const std::string said = databaseError([&] { store->put({"n"}, "a", Doc{{"v", "2"}}); });
            POSTGRES_SAYS(said, "StoreError");
            if (has(said, "no answer came") || has(said, "not known")) return false;  // the server was paused
            POSTGRES_SAYS(said, "statement_timeout");
            CHECK(store->get<Doc>({"n"}, "a") == Doc{{"v", "1"}});
            other.run("ROLLBACK");
            store->put({"n"}, "a", Doc{{"v", "2"}});
            CHECK(store->get<Doc>({"n"}, "a") == Doc{{"v", "2"}});
        } catch (const StoreError&) {
            return false;  // a statement that nobody held up took longer
        }
        return true;
    }));
}

TEST_CASE(
    "what the server refuses of a batch is a StoreError with what to do, stores nothing, and the next one works") {
    const Schema schema;
    const auto store = schema.openStore();
    store->put({"n"}, "a", Doc{{"v", "1"}});
    Raw raw;
    const auto refuse = [&](const std::string& state, const std::string& text) {
        raw.run("CREATE OR REPLACE FUNCTION " + schema.name() +
                ".refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '" + text +
                "' USING ERRCODE = '" + state + "'; END $$");
        raw.run("CREATE TRIGGER refuse BEFORE INSERT ON " + schema.name() + ".store FOR EACH ROW EXECUTE FUNCTION " +
                schema.name() + ".refuse()");
        const std::string said = databaseError([&] {
            store->batch({PutOp{{"n"}, "a", Value(Doc{{"v", "2"}}), {}}, PutOp{{"n"}, "b", Value(Doc{}), {}}});
        });
        CHECK(store->get<Doc>({"n"}, "a") == Doc{{"v", "1"}});
        CHECK(store->search({}).size() == 1);
        raw.run("DROP TRIGGER refuse ON " + schema.name() + ".store");
        return said;
    };
    const std::string full = refuse("53100", "could not extend file");
    POSTGRES_SAYS(full, "StoreError: the database 'postgres' at ");
    POSTGRES_SAYS(full, "could not store items: could not extend file; make room on the server's disk");
    POSTGRES_SAYS(refuse("53200", "out of memory"), "the server is out of memory: nothing of this was stored");
    POSTGRES_SAYS(refuse("25006", "read-only"), "name the primary (target_session_attrs=read-write)");
    POSTGRES_SAYS(refuse("XX001", "invalid page in block 7"), "CorruptStoreError: the database 'postgres' at ");
    store->put({"n"}, "a", Doc{{"v", "2"}});
    CHECK(store->get<Doc>({"n"}, "a") == Doc{{"v", "2"}});
    raw.run("DROP TABLE " + schema.name() + ".store");
    POSTGRES_SAYS(databaseError([&] { (void)store->get({"n"}, "a"); }), "StoreError");
    POSTGRES_SAYS(databaseError([&] { (void)store->search({}); }), "PostgresStore's");
}

TEST_CASE("a PostgreSQL store without prepared statements does the same, for poolers") {
    const Schema schema;
    const auto store = schema.openStore(shared_items::options(), {.prepared_statements = false});
    shared_items::mix(*store, 5, 60);
    std::this_thread::sleep_for(2ms);  // sleeps: a lifetime ends
    shared_items::removeAll(*store);
    CHECK(rowsOf(schema) == "0");
}

TEST_CASE("the document of the format has the tables of stores on PostgreSQL as they are") {
    std::ifstream file(STATEGRAPH_TESTS_DIR "/../docs/checkpoint_format.md");
    const std::string document((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    CHECK(has(document, std::string(checkpoint::postgres_store_part.tables).substr(1)));
}
