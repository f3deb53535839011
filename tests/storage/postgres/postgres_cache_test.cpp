// A cache on a PostgreSQL server: several objects at once, opening, connections that break, and a server that crashes.
// tests/cache has the tests for all caches.
#include <stategraph/postgres_cache.hpp>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/storage/postgres/postgres_proxy.hpp"

using namespace stategraph;
using namespace postgres_tests;
using namespace std::chrono_literals;

TEST_CASE("caches of several objects on PostgreSQL count right what they set, remove and clear at once") {
    const Schema schema;
    const auto one = schema.openCache({.bytes_max = 30'000});
    const auto two = schema.openCache({.bytes_max = 30'000});
    one->set("n", "k", "value", {});
    CHECK(two->get("n", "k") == "value");
    std::vector<std::string> said(4);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < said.size(); ++t) {
            threads.emplace_back([&, t] {
                PostgresCache& cache = t % 2 == 0 ? *one : *two;
                std::mt19937 random(static_cast<unsigned>(t));
                said[t] = databaseError([&] {
                    for (int i = 0; i < 80; ++i) {
                        const std::string key = std::to_string(random() % 9);
                        const std::string ns = random() % 2 == 0 ? "n" : "m";
                        cache.set(ns, key, std::string(random() % 3000, 'x'), {});
                        if (i % 7 == 0) cache.remove(ns, key);
                        if (i % 23 == 0) cache.clear(ns);
                    }
                });
            });
        }
    }
    for (const std::string& each : said) CHECK(each == "");
    CHECK(std::to_string(one->storedBytes()) ==
          Raw().run("SELECT coalesce(sum(size), 0) FROM " + schema.name() + ".cache"));
    two->clear();
    CHECK(one->storedBytes() == 0);
}

TEST_CASE("a cache is empty after its server crashed, works on, and repeats what a cut connection took away") {
    Server server;
    PostgresCache cache(server.conninfo(), patient<PostgresCacheOptions>({.set_up = true}));
    cache.set("n", "k", "value", {});
    server.down();
    server.up();
    CHECK_FALSE(cache.get("n", "k"));
    CHECK(cache.storedBytes() == 0);
    cache.set("n", "k", "again", {});
    CHECK(cache.get("n", "k") == "again");

    const Schema schema;
    (void)schema.openCache();
    Proxy proxy;
    PostgresCache cuttable(proxy.address(), patient<PostgresCacheOptions>({.schema = schema.name()}));
    cuttable.set("n", "k", "value", {});
    for (const auto how : {Proxy::Cut::request, Proxy::Cut::reply}) {
        proxy.cut(how, "cache_set");
        cuttable.set("n", "k", "other", {});
        proxy.cut(how, "cache_get");
        CHECK(cuttable.get("n", "k") == "other");
        CHECK(proxy.hasCut());
    }
    CHECK(std::to_string(cuttable.storedBytes()) == Raw().run("SELECT sum(size) FROM " + schema.name() + ".cache"));
}

TEST_CASE("what a PostgreSQL cache cannot be opened with is an error that names it") {
    const Schema schema;
    const auto refused = [&](const PostgresCacheOptions& options) {
        return databaseError([&] { PostgresCache(conninfo(), options); });
    };
    POSTGRES_SAYS(refused({.schema = schema.name()}), "SaverError: cannot open the database 'postgres' at ");
    POSTGRES_SAYS(refused({.schema = schema.name()}), "the schema has no tables of a cache; call PostgresCache::setUp");
    POSTGRES_SAYS(refused({.bytes_max = 0}), "InvalidArgumentError: PostgresCacheOptions::bytes_max is 0");
    POSTGRES_SAYS(refused({.connections_max = 0}), "connections_max is 0");
    PostgresCache::setUp(conninfo(), {.schema = schema.name()});
    CHECK(refused({.schema = schema.name()}).empty());
    Raw().run("UPDATE " + schema.name() + ".parts SET version = 2");
    POSTGRES_SAYS(refused({.schema = schema.name()}), "CorruptCheckpointError");
    POSTGRES_SAYS(refused({.schema = schema.name(), .set_up = true}), "a cache of version 2, newer than this");
}

TEST_CASE("the limit of a PostgreSQL cache holds in a schema of any name, and without prepared statements") {
    const Schema odd;
    for (const bool prepared : {true, false}) {
        PostgresCache cache(conninfo(), {.schema = odd.name() + " it's \"odd\"",
                                         .set_up = true,
                                         .bytes_max = 5'000,
                                         .prepared_statements = prepared});
        for (int i = 0; i < 20; ++i) {
            cache.set("n", std::to_string(i), std::string(300, 'x'), {});
            CHECK(cache.storedBytes() <= 5'000);
        }
        CHECK(cache.get("n", "19"));
        CHECK_FALSE(cache.get("n", "1"));
    }
    Raw().run("SET client_min_messages=error; DROP SCHEMA \"" + odd.name() + " it's \"\"odd\"\"\" CASCADE");
}
