// Puts of several threads in one statement, in a schema that has only some slots of threads.
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/postgres_shards.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_join_helper.hpp"
#include "tests/storage/sharded/postgres/postgres_shards_helper.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;

namespace {

/// One cluster, which has all slots, and a saver that joins what it is given.
struct Cluster {
    Schema schema;
    std::shared_ptr<PostgresSaver> saver;
    std::unique_ptr<Joining> joining;

    Cluster() {
        const std::vector<PostgresCluster> all{
            {.name = "a", .conninfo = conninfo(), .options = {.schema = schema.name()}}};
        PostgresShards::setUp(all);
        saver = schema.open({.join_puts = {.statements_max = 1}});
        joining = std::make_unique<Joining>(schema, *saver);
    }
    std::string run(const std::string& sql) const {
        std::string text = sql;
        for (std::size_t at = text.find("{S}"); at != std::string::npos; at = text.find("{S}"))
            text.replace(at, 3, schema.name());
        return Raw().run(text);
    }
    void set(std::size_t slot, const std::string& what) const {
        run("UPDATE {S}.slots SET " + what + " WHERE slot = " + std::to_string(slot));
    }
    Joining::Call append(const std::string& thread, unsigned after) const {
        return [this, thread, after] {
            putOne(*saver, {thread}, after ? nthId(after) : CheckpointId(), makeCommit(after + 1, after));
        };
    }
};

}  // namespace

TEST_CASE("puts of several slots are joined in a cluster, those that begin a log and those that continue one") {
    const Cluster on;
    std::vector<Joining::Call> begins;
    std::vector<Joining::Call> continues;
    std::vector<std::string> names;
    for (std::size_t slot = 10; slot < 30; ++slot) {
        names.push_back(nameIn(slot));
        begins.push_back(on.append(names.back(), 0));
        continues.push_back(on.append(names.back(), 1));
    }
    for (const std::string& said : on.joining->together(begins)) CHECK(said == "");
    CHECK(on.saver->joinedPuts() > 1);
    const auto before = on.saver->joinedPuts();
    for (const std::string& said : on.joining->together(continues)) CHECK(said == "");
    CHECK(on.saver->joinedPuts() > before);
    for (const std::string& name : names) CHECK(listIds(*on.saver, {name}) == nthIds({2, 1}));
}

TEST_CASE("of joined puts those of slots that are away are refused, one waits for a move, and the others are stored") {
    const Cluster on;
    on.set(11, "state = 0, owner = 'b'");
    on.set(12, "state = 3, peer = 'b', until = now() + interval '1 second'");  // a dead move
    on.set(14, "state = 4, owner = 'b'");
    std::vector<Joining::Call> calls;
    for (std::size_t slot = 10; slot < 16; ++slot) calls.push_back(on.append(nameIn(slot), 0));
    const auto said = on.joining->together(calls);
    CHECK(said[0] == "");
    POSTGRES_SAYS(said[1], "'b'");
    CHECK(said[2] == "");
    CHECK(said[3] == "");
    POSTGRES_SAYS(said[4], "'b'");
    CHECK(said[5] == "");
    CHECK(on.run("SELECT count(*) FROM {S}.logs") == "5");  // with the helper's own thread
}

TEST_CASE("a put to a slot that is being copied is noted, also if it comes with others") {
    const Cluster on;
    on.set(12, "state = 2, peer = 'b', until = now() + interval '1 hour'");
    std::vector<Joining::Call> calls;
    for (std::size_t slot = 10; slot < 16; ++slot) calls.push_back(on.append(nameIn(slot), 0));
    for (const std::string& said : on.joining->together(calls)) CHECK(said == "");
    CHECK(on.run("SELECT string_agg(slot::text, ',') FROM {S}.touched") == "12");
}

TEST_CASE("a joined put waits for no drain of a move, and the drain waits for no joined put that skipped it") {
    const Cluster on;
    Raw mover;
    mover.run("BEGIN; SELECT 1 FROM " + on.schema.name() + ".slots WHERE slot = 12 FOR UPDATE");
    std::vector<Joining::Call> calls;
    for (std::size_t slot = 10; slot < 16; ++slot) {
        if (slot != 12) calls.push_back(on.append(nameIn(slot), 0));
    }
    for (const std::string& said : on.joining->together(calls)) CHECK(said == "");
    mover.run("COMMIT");
    CHECK(on.saver->joinedPuts() > 1);
}
