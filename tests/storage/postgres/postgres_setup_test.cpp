// Setting up a schema, what opening refuses, and the messages for refusals of the server.
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_queue.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/postgres_store.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include <stategraph/testing/saver_contract/index_summaries.hpp>

#include "storage/postgres/postgres_tables.hpp"
#include "tests/storage/postgres/postgres_helper.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;

namespace {

std::string openingError(const PostgresSaverOptions& options, const std::string& info = conninfo()) {
    return databaseError([&] { const PostgresSaver saver(info, options); });
}

}  // namespace

TEST_CASE("a schema that is not set up is refused with what to call, and setting it up twice does no harm") {
    const Schema schema;
    const PostgresSaverOptions options{.schema = schema.name()};
    const std::string said = openingError(options);
    POSTGRES_SAYS(said, "SaverError: cannot open the database 'postgres' at ");
    POSTGRES_SAYS(said, "schema '" + schema.name() + "'");
    POSTGRES_SAYS(said, "call PostgresSaver::setUp, or open it with set_up");
    PostgresSaver::setUp(conninfo(), options);
    {
        PostgresSaver saver(conninfo(), options);
        putLine(saver, {"t"}, 2);
    }
    PostgresSaver::setUp(conninfo(), options);
    PostgresSaver saver(conninfo(), options);
    CHECK(listIds(saver, {"t"}) == nthIds({2, 1}));

    // A schema that exists and has other tables.
    const Schema other;
    Raw().run("CREATE SCHEMA " + other.name() + "; CREATE TABLE " + other.name() + ".users (name text)");
    POSTGRES_SAYS(openingError({.schema = other.name()}), "the schema has no tables of stategraph's");
    PostgresSaver::setUp(conninfo(), {.schema = other.name()});
    CHECK(openingError({.schema = other.name()}).empty());
    CHECK(Raw().run("SELECT count(*) FROM " + other.name() + ".users") == "0");
}

TEST_CASE("many that set up a schema at once all succeed, and it is set up once") {
    const Schema schema;
    std::vector<std::thread> threads;
    std::vector<std::string> said(8);
    for (std::size_t i = 0; i < said.size(); ++i)
        threads.emplace_back([&, i] { said[i] = databaseError([&] { (void)schema.open(); }); });
    for (auto& each : threads) each.join();
    for (const std::string& each : said) CHECK(each == "");
    CHECK(Raw().run("SELECT count(*) FROM " + schema.name() + ".format") == "1");
}

TEST_CASE("tables of a newer version are refused, and left as they are") {
    const Schema schema;
    (void)schema.open();
    Raw raw;
    raw.run("UPDATE " + schema.name() + ".format SET version = 7");
    POSTGRES_SAYS(openingError({.schema = schema.name()}), "CorruptCheckpointError: the database 'postgres' at ");
    POSTGRES_SAYS(openingError({.schema = schema.name()}),
                  "has tables of version 7, newer than this library's 1; use a newer stategraph");
    POSTGRES_SAYS(databaseError([&] { PostgresSaver::setUp(conninfo(), {.schema = schema.name()}); }),
                  "newer than this library's");
    CHECK(raw.run("SELECT version FROM " + schema.name() + ".format") == "7");
    raw.run("DELETE FROM " + schema.name() + ".format");
    POSTGRES_SAYS(openingError({.schema = schema.name()}), "its table format has 0 rows and not one");
}

namespace {

void useQueue(const PostgresSaverOptions& options) {
    PostgresQueue queue(std::make_shared<PostgresSaver>(conninfo(), options));
    queue.submit({.thread_id = "q", .graph = "graph", .input = Value(1), .key = "once"});
    const auto claims = queue.claim(
        {.worker = "w", .lease = std::chrono::hours(1), .graphs = {{"graph", {1, 2}}}, .queues = {{"default", 10}}});
    REQUIRE(claims.size() == 1);
    const HeldLease held{"q", claims.front().epoch};
    CHECK(queue.renew(std::span(&held, 1), std::chrono::hours(1)).size() == 1);
    const Release release{.thread_id = "q", .epoch = held.epoch, .outcome = WorkOutcome::set_aside, .error = "why"};
    CHECK(queue.release(std::span(&release, 1)).size() == 1);
    CHECK(queue.setAside().size() == 1);
    CHECK(queue.retry("q"));
    CHECK(queue.wake("q"));
    CHECK(queue.cancel("q"));
    CHECK(queue.stats().size() == 1);
    (void)queue.forgetKeys(std::chrono::seconds(1));
}

}  // namespace

TEST_CASE("a schema may have any name") {
    // Those with dollar signs are in functions whose texts are between such signs.
    for (const char* name : {"two words", "Größe", "it's", "a\"b", "back\\slash", "select", "a$b", "{S}", "\\$\"$put$",
                             "$put$; SELECT 1; --", "$put_work$ $submit$", "$trim$$set$$clear$$name$"}) {
        CAPTURE(name);
        const PostgresSaverOptions options{.schema = name};
        POSTGRES_SAYS(openingError(options), "call PostgresSaver::setUp");
        PostgresSaver::setUp(conninfo(), options);
        {
            PostgresSaver saver(conninfo(), options);
            putLine(saver, {"t"}, 2);
            CHECK(saver.list({}).size() == 2);
            CHECK(saver.storedBytes().value_or(0) > 0);
            PostgresStore store(conninfo(), {}, {.schema = name, .set_up = true});
            store.put({"n"}, "k", Value(std::map<std::string, std::string>{{"a", "b"}}));
            CHECK(store.get({"n"}, "k"));
            useQueue(options);
        }
        Raw().run("SET client_min_messages=error; DROP SCHEMA " + checkpoint::quotedName(name) + " CASCADE");
    }
}

TEST_CASE("impossible options of a PostgreSQL saver are errors that name them") {
    using std::chrono::milliseconds;
    const auto opening = [](const PostgresSaverOptions& options) { return openingError(options, "host=/nowhere"); };
    POSTGRES_SAYS(opening({.schema = ""}), "InvalidArgumentError: schema '' has 0 bytes");
    POSTGRES_SAYS(opening({.schema = std::string(64, 's')}), "has 64 bytes; it must have 1 to 63");
    POSTGRES_SAYS(opening({.connections_max = 0}), "connections_max is 0; it must be 1 to 1000");
    POSTGRES_SAYS(opening({.connection_wait = milliseconds(-1)}), "connection_wait is -1 ms");
    POSTGRES_SAYS(opening({.connect_timeout = milliseconds(0)}), "connect_timeout is 0 ms; it must be 1 to 3600000");
    POSTGRES_SAYS(opening({.statement_timeout = milliseconds(0)}), "statement_timeout is 0 ms");
    POSTGRES_SAYS(opening({.reconnect_for = milliseconds(-1)}), "reconnect_for is -1 ms");
    POSTGRES_SAYS(opening({.set_up = true, .read_only = true}), "set_up: a read_only database is not changed");
    POSTGRES_SAYS(opening({.read_only = true, .retention = RetentionOptions{.keep_last = 1}}),
                  "retention: a read_only database cannot be pruned");
    POSTGRES_SAYS(openingError({}, "nonsense"), "InvalidArgumentError: the conninfo of a PostgreSQL database cannot");
    POSTGRES_SAYS(openingError({}, "host=/nowhere dbname=d password=secret"),
                  "SaverError: cannot open the database 'd' at /nowhere:5432, schema 'stategraph'");
    CHECK_FALSE(has(openingError({}, "host=/nowhere dbname=d password=secret"), "secret"));
}

TEST_CASE("a PostgreSQL saver that is open read_only reads, also next to a writer, and changes nothing") {
    const Schema schema;
    const auto writer = schema.open();
    putLine(*writer, {"t"}, 2);
    const auto reader = schema.open({.read_only = true});
    CHECK(listIds(*reader, {"t"}) == nthIds({2, 1}));
    putOne(*writer, {"t"}, nthId(2), makeCommit(3, 2));
    CHECK(headOf(*reader, {"t"}) == nthId(3));
    for (const std::string& said :
         {databaseError([&] { putOne(*reader, {"t"}, nthId(3), makeCommit(4, 3)); }),
          databaseError([&] { reader->deleteThread("t"); }), databaseError([&] { reader->copyThread("t", "u"); }),
          databaseError([&] { (void)reader->prune({.keep_last = 1}); }), databaseError([&] {
              reader->putGraph({1, 2}, "graph");
          })})
        POSTGRES_SAYS(said, "it is open read_only; open it without read_only to change it");
    CHECK(listIds(*writer, {"t"}) == nthIds({3, 2, 1}));
}

TEST_CASE("what the server refuses says what to do, and the next write works") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"t"}, 1);
    Raw raw;
    const std::string table = schema.name() + ".commits";
    const auto refuse = [&](const std::string& state, const std::string& text) {
        raw.run("CREATE OR REPLACE FUNCTION " + schema.name() +
                ".refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '" + text +
                "' USING ERRCODE = '" + state + "'; END $$");
        raw.run("CREATE TRIGGER refuse BEFORE INSERT ON " + table + " FOR EACH ROW EXECUTE FUNCTION " + schema.name() +
                ".refuse()");
        const std::string said = databaseError([&] {
                                     putOne(*saver, {"t", "ns"}, {}, makeCommit(1, 0));
                                 }) +
                                 databaseError([&] { putOne(*saver, {"t"}, nthId(1), makeCommit(2, 1)); });
        raw.run("DROP TRIGGER refuse ON " + table);
        return said;
    };
    const std::string full = refuse("53100", "could not extend file");
    POSTGRES_SAYS(full, "could not store a commit: could not extend file; make room on the server");
    POSTGRES_SAYS(full, "thread 't', namespace 'ns'");
    POSTGRES_SAYS(refuse("53200", "out of memory"), "the server is out of memory: nothing of this was stored");
    POSTGRES_SAYS(refuse("25006", "read-only"), "name the primary (target_session_attrs=read-write)");
    POSTGRES_SAYS(refuse("40001", "could not serialize"), "others wrote the same rows at this moment: try again");
    POSTGRES_SAYS(refuse("XX001", "invalid page in block 7"), "CorruptCheckpointError: the database 'postgres' at ");
    CHECK(listIds(*saver, {"t"}) == nthIds({1}));
    CHECK(listIds(*saver, {"t", "ns"}).empty());
    putOne(*saver, {"t"}, nthId(1), makeCommit(2, 1));
    CHECK(listIds(*saver, {"t"}) == nthIds({2, 1}));

    const std::string too_long = databaseError([&] {
        putOne(*saver, {"t", std::string(2500, 'n')}, {}, makeCommit(1, 0));
    });
    POSTGRES_SAYS(too_long, "InvalidArgumentError: thread and namespace together have 2501 bytes");
    CHECK_NOTHROW(putOne(*saver, {"t", std::string(2499, 'n')}, {}, makeCommit(1, 0)));
    raw.run("DROP TABLE " + table);
    POSTGRES_SAYS(databaseError([&] { (void)saver->getTuple({.log = {"t"}}); }), "call PostgresSaver::setUp");
}

TEST_CASE("without permission nothing is read or stored, and the error says what to grant") {
    const Schema schema;
    putLine(*schema.open(), {"t"}, 1);
    Raw raw;
    const std::string user = schema.name() + "_user";
    raw.run("CREATE ROLE " + user + " LOGIN");
    std::string info = conninfo();
    info.replace(info.find("user=sg"), 7, "user=" + user);
    const PostgresSaverOptions options{.schema = schema.name()};
    POSTGRES_SAYS(openingError(options, info), "permission denied");
    raw.run("GRANT USAGE ON SCHEMA " + schema.name() + " TO " + user + "; GRANT SELECT ON ALL TABLES IN SCHEMA " +
            schema.name() + " TO " + user);
    {
        PostgresSaver saver(info, options);
        CHECK(listIds(saver, {"t"}) == nthIds({1}));
        POSTGRES_SAYS(databaseError([&] { putOne(saver, {"t"}, nthId(1), makeCommit(2, 1)); }),
                      "permission denied for table logs; grant this user USAGE on the schema");
    }
    raw.run("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema.name() + " TO " + user);
    {
        PostgresSaver saver(info, options);
        putOne(saver, {"t"}, nthId(1), makeCommit(2, 1));
        putOne(saver, {"new"}, {}, makeCommit(1, 0));
        CHECK(saver.prune({.keep_last = 1}) == 1);
    }
    Raw().run("DROP OWNED BY " + user + "; DROP ROLE " + user);
}

TEST_CASE("more connections than the server has say so") {
    const Schema schema;
    const auto saver = schema.open();
    std::string info = conninfo();
    const std::string user = schema.name() + "_few";
    Raw().run("CREATE ROLE " + user + " LOGIN CONNECTION LIMIT 0");
    info.replace(info.find("user=sg"), 7, "user=" + user);
    POSTGRES_SAYS(openingError({.schema = schema.name()}, info), "too many connections");
    POSTGRES_SAYS(openingError({.schema = schema.name()}, info), "raise the server's max_connections");
    Raw().run("DROP ROLE " + user);
}

TEST_CASE("the document of the format has the tables of PostgreSQL as they are") {
    std::ifstream file(STATEGRAPH_TESTS_DIR "/../docs/checkpoint_format.md");
    std::ostringstream text;
    text << file.rdbuf();
    CHECK(has(text.str(), checkpoint::postgres_tables));
}
