#include <stategraph/postgres_shards.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/leased_saver.hpp>
#include <stategraph/postgres_queue.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "storage/postgres/postgres_shard_tables.hpp"
#include "tests/storage/sharded/postgres/postgres_shards_helper.hpp"

// Clusters without moves: set-up, the map, what a cluster refuses, one that is down. Moves:
// postgres_shard_moves_test.cpp.
using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace std::chrono_literals;

namespace {

struct Counting {
    int n = 0;
    static constexpr auto channels() { return stategraph::channels(channel("n", &Counting::n)); }
};

CompiledGraph<Counting> countingTo(int steps, std::shared_ptr<BaseCheckpointSaver> saver) {
    StateGraph<Counting> graph;
    graph.addNode("count", [](const Counting& state) -> Update<Counting> { return {set(&Counting::n, state.n + 1)}; });
    graph.addEdge(START, "count").addConditionalEdges("count", [steps](const Counting& state) {
        return state.n < steps ? "count" : END;
    });
    return graph.compile({.checkpointer = std::move(saver)});
}

}  // namespace

TEST_CASE("a cluster computes the slot of a thread as the library does, whatever bytes its id has") {
    const Clusters clusters(1);
    clusters.setUp();
    for (const std::string& name : oddNames()) {
        std::string hex;
        for (const unsigned char byte : name) {
            constexpr const char* digits = "0123456789abcdef";
            hex += {digits[byte >> 4U], digits[byte & 15U]};
        }
        CHECK(clusters.run(0, "SELECT {S}.slot_of('\\x" + hex + "')") == std::to_string(slotOf(name)));
    }
}

TEST_CASE("the document of the format has the tables of a cluster as they are") {
    std::ifstream file(STATEGRAPH_TESTS_DIR "/../docs/checkpoint_format.md");
    std::ostringstream text;
    text << file.rdbuf();
    const std::string_view tables = checkpoint::postgres_shard_part.tables;
    const std::string_view first = tables.substr(0, tables.find("CREATE FUNCTION"));
    CHECK(first.size() > 400);
    CHECK(has(text.str(), std::string(first)));
    CHECK(has(text.str(), "CREATE INDEX slot_work ON {S}.work ({S}.slot_of(thread), thread);"));
}

TEST_CASE("a set-up divides the slots among empty clusters, and does nothing when it is done") {
    const Clusters clusters(3);
    clusters.setUp();
    clusters.setUp();
    const ShardMap map = clusters.open()->readMap();
    CHECK(map.shard_of == ShardMap::evenly(3).shard_of);
    CHECK(clusters.open()->slotsOf("c").front() == 683);
    CHECK(clusters.open()->slotsOf("a").size() == 342);
}

TEST_CASE("a schema that has threads becomes the cluster that has all slots, and those threads are read as before") {
    const Clusters clusters(3);
    PostgresSaverOptions options = clusters.settings()[1].options;
    options.set_up = true;
    {
        PostgresSaver saver(clusters.server(1), options);
        putLine(saver, {"t"}, 3);
    }
    clusters.setUp();
    const auto saver = clusters.openSaver();
    CHECK(std::ranges::all_of(saver->map().shard_of, [](std::size_t shard) { return shard == 1; }));
    CHECK(listIds(*saver, {"t"}) == nthIds({3, 2, 1}));
    CHECK_NOTHROW(putOne(*saver, {"t"}, nthId(3), makeCommit(4, 3)));
}

TEST_CASE("a cluster that is added later has no slots, and clusters with threads of their own are refused") {
    const Clusters clusters(3);
    const std::vector<PostgresCluster> two(clusters.settings().begin(), clusters.settings().begin() + 2);
    PostgresShards::setUp(two);
    clusters.setUp();
    CHECK(clusters.open()->readMap().shard_of == ShardMap::evenly(2).shard_of);
    CHECK(clusters.open()->slotsOf("c").empty());

    const Clusters others(2);
    for (const std::size_t i : {0, 1}) {
        PostgresSaverOptions options = others.settings()[i].options;
        options.set_up = true;
        PostgresSaver saver(others.server(i), options);
        putLine(saver, {"t"}, 1);
    }
    POSTGRES_SAYS(databaseError([&] { others.setUp(); }), "both have threads already");
    PostgresShards::setUp(std::span(others.settings()).first(1));
    POSTGRES_SAYS(databaseError([&] { others.setUp(); }), "is added to others and has threads already");
}

TEST_CASE("clusters that are not set up, are called otherwise or cannot be are refused with what to do") {
    Clusters clusters(2);
    POSTGRES_SAYS(databaseError([&] { (void)clusters.open()->readMap(); }), "PostgresSaver::setUp");
    PostgresSaver::setUp(clusters.server(0), clusters.settings()[0].options);
    PostgresSaver::setUp(clusters.server(1), clusters.settings()[1].options);
    POSTGRES_SAYS(databaseError([&] { (void)clusters.open()->readMap(); }), "call PostgresShards::setUp");
    clusters.setUp();
    std::vector<PostgresCluster> swapped = clusters.settings();
    std::swap(swapped[0].name, swapped[1].name);
    POSTGRES_SAYS(databaseError([&] { (void)PostgresShards(swapped).readMap(); }), "it is the cluster 'a' and not 'b'");
    std::vector<PostgresCluster> one(clusters.settings().begin(), clusters.settings().begin() + 1);
    POSTGRES_SAYS(databaseError([&] { (void)PostgresShards(one).readMap(); }), "there is no cluster 'b'");
    swapped[0].name = swapped[1].name;
    POSTGRES_SAYS(databaseError([&] { PostgresShards shards(swapped); }), "two clusters are called 'a'");
    swapped[0].name = "";
    POSTGRES_SAYS(databaseError([&] { PostgresShards shards(swapped); }), "has 0 bytes");
    POSTGRES_SAYS(databaseError([&] { PostgresShards shards({}); }), "no clusters");
    clusters.options(0).read_only = true;
    POSTGRES_SAYS(databaseError([&] { (void)clusters.open(); }), "read_only");
    POSTGRES_SAYS(databaseError([&] { (void)clusters.open(); }), "cluster 'a'");
}

TEST_CASE("a cluster refuses every call for a thread whose slot it does not have, also of a saver that knows no map") {
    const Clusters clusters(2);
    clusters.setUp();
    const std::string there = nameIn(1000);
    const std::string here = nameIn(3);
    const auto saver = clusters.openSaver();
    putLine(*saver, {there}, 2);
    putLine(*saver, {here}, 2);
    PostgresSaver alone(clusters.server(0), clusters.settings()[0].options);
    const auto refused = [&](const std::function<void()>& call) {
        POSTGRES_SAYS(databaseError(call), "is not in this cluster but in 'b', so nothing was done");
        CHECK_THROWS_AS(call(), ThreadMovedError);
    };
    refused([&] { putLine(alone, {there}, 1); });
    refused([&] { putOne(alone, {there}, nthId(2), makeCommit(3, 2)); });
    refused([&] { putOne(alone, {there, "child"}, {}, makeCommit(3, 2)); });
    refused([&] { putWrite(alone, {there}, nthId(2), nthId(2), "p", "bytes"); });
    refused([&] { (void)alone.getTuple({.log = {there}}); });
    refused([&] { (void)alone.list({.thread_id = there}); });
    refused([&] { alone.deleteThread(there); });
    refused([&] { (void)alone.prune({.thread_id = there, .keep_last = 1}); });
    POSTGRES_SAYS(databaseError([&] { alone.copyThread(here, there); }), "of one of 2 threads is not in this cluster");
    POSTGRES_SAYS(databaseError([&] { alone.copyThread(there, here + "2"); }), "is not in this cluster");
    CHECK(clusters.rowsOf(0, 1000) == "0");
    CHECK(listIds(*saver, {there}) == nthIds({2, 1}));
    // Its own threads are as in any other schema.
    putOne(alone, {here}, nthId(2), makeCommit(3, 2));
    CHECK(listIds(*saver, {here}) == nthIds({3, 2, 1}));
    CHECK(alone.prune({.keep_last = 1}) == 2);
}

TEST_CASE("lists and the index of one cluster show its own threads, whatever rows of others it still has") {
    const Clusters clusters(2);
    clusters.setUp();
    const std::string mine = nameIn(3);
    const std::string gone = nameIn(4);
    PostgresSaver alone(clusters.server(0), clusters.settings()[0].options);
    putLine(alone, {mine}, 2);
    putLine(alone, {gone}, 2);
    clusters.run(0, "UPDATE {S}.slots SET state = 0, owner = 'b', version = 2 WHERE slot = 4");
    clusters.run(1, "UPDATE {S}.slots SET state = 1, owner = 'b', version = 2 WHERE slot = 4");
    CHECK(alone.list({}).size() == 2);
    CHECK(alone.list({.heads = true}).at(0).thread_id == mine);
    CHECK(alone.list({.thread_ids = {gone, mine}}).size() == 2);
    CHECK(alone.openThreads({}).value().size() == 1);
    CHECK(alone.newestThreads({}).value().size() == 1);
    CHECK(alone.countThreads(10).value().open() == 1);
    CHECK(alone.prune({.keep_last = 1}) == 1);
    CHECK(clusters.rowsOf(0, 4) == "2");
}

TEST_CASE("a fenced put and a fenced read are one round trip each") {
    const Clusters clusters(2);
    clusters.setUp();
    const auto shards = clusters.open();
    ShardedSaver saver(shards);
    const std::string name = nameIn(3);
    putLine(saver, {name}, 3);
    (void)saver.getTuple({.log = {name}});
    const auto inner = shards->cluster(0);
    const auto before = inner->roundTrips();
    putOne(saver, {name}, nthId(3), makeCommit(4, 3));
    CHECK(inner->roundTrips() == before + 1);
    (void)saver.getTuple({.log = {name}});
    CHECK(inner->roundTrips() == before + 2);
}

TEST_CASE("a lease is checked together with the slot, and a thread whose slot is elsewhere has lost its lease") {
    const Clusters clusters(2);
    clusters.setUp();
    const auto shards = clusters.open();
    const std::string name = nameIn(3);
    LeasedSaver leased(shards->cluster(0));
    PostgresQueue queue(shards->cluster(0));
    queue.submit({.thread_id = name, .graph = "graph", .input = Value(1)});
    const ClaimRequest request{.worker = "w", .lease = 1h, .graphs = {{"graph", {1, 2}}}, .queues = {{"default", 10}}};
    const Claim claim = queue.claim(request).at(0);
    leased.hold(name, {.epoch = claim.epoch, .takes = claim.input_number});
    putLine(leased, {name}, 2);
    clusters.run(0, "UPDATE {S}.slots SET state = 0, owner = 'b', version = 2 WHERE slot = 3");
    POSTGRES_SAYS(databaseError([&] { putOne(leased, {name}, nthId(2), makeCommit(3, 2)); }), "LeaseLostError");
    const HeldLease held{name, claim.epoch};
    CHECK(queue.renew(std::span(&held, 1), 1h).empty());
    CHECK(queue.claim(request).empty());
    POSTGRES_SAYS(databaseError([&] { queue.submit({.thread_id = name, .graph = "graph", .input = Value(1)}); }),
                  "is not in this cluster");
    POSTGRES_SAYS(databaseError([&] { (void)queue.find(name); }), "is not in this cluster");
    POSTGRES_SAYS(databaseError([&] { (void)queue.cancel(name); }), "is not in this cluster");
    CHECK(queue.stats().empty());
}

TEST_CASE("graphs run on clusters as on one database: fork, history, unfinished threads, sleeping ones, sizes") {
    const Clusters clusters(3);
    clusters.setUp();
    const std::shared_ptr<BaseCheckpointSaver> saver = clusters.openSaver();
    const auto app = countingTo(5, saver);
    std::set<std::size_t> used;
    for (int i = 0; i < 12; ++i) {
        const std::string name = "thread " + std::to_string(i);
        used.insert(ShardMap::evenly(3).shard_of[slotOf(name)]);
        CHECK(app.invoke({set(&Counting::n, 0)}, {.thread_id = name}).values.n == 5);
        CHECK(app.getState({.thread_id = name}).values.n == 5);
    }
    CHECK(used.size() == 3);
    CHECK(saver->unfinishedThreads().empty());
    CHECK(saver->stats().threads == 12);
    CHECK(saver->stats().per_thread.size() == 12);
    CHECK(saver->countThreads(100).value().done() == 12);
    app.updateState({.thread_id = "thread 3"}, {set(&Counting::n, 0)}, {.as_node = "count"});
    const auto open = saver->unfinishedThreads();
    REQUIRE(open.size() == 1);
    CHECK(open[0].thread_id == "thread 3");
    CHECK(app.invoke(RESUME, {.thread_id = "thread 3"}).values.n == 5);
}

TEST_CASE(
    "while a server is down its threads fail with the cluster's name, those of others continue, and a program can "
    "begin") {
    const Server one;
    const Server two;
    const Clusters clusters({one.conninfo(), two.conninfo()});
    clusters.setUp();
    const auto openQuickly = [&] {
        auto settings = clusters.settings();
        for (PostgresCluster& each : settings) each.options.reconnect_for = 0ms;
        return std::make_shared<ShardedSaver>(std::make_shared<PostgresShards>(settings));
    };
    const std::string left = nameIn(3);
    const std::string right = nameIn(1000);
    const auto before = openQuickly();
    putLine(*before, {left}, 2);
    putLine(*before, {right}, 1);
    putOne(*before, {right}, nthId(1), makeCommit(2, 1), true);
    two.down();
    const auto after = openQuickly();
    unsigned last = 2;
    for (const auto& saver : {before, after}) {
        POSTGRES_SAYS(databaseError([&] { putOne(*saver, {right}, nthId(2), makeCommit(3, 2)); }), "shard 'b': ");
        POSTGRES_SAYS(databaseError([&] { (void)saver->list({}); }), "shard 'b': ");
        putOne(*saver, {left}, nthId(last), makeCommit(last + 1, last));
        ++last;
        CHECK(saver->getTuple({.log = {left}})->head == nthId(last));
    }
    two.up();
    for (const auto& saver : {before, after}) {
        CHECK(listIds(*saver, {right}) == nthIds({2, 1}));
        CHECK(saver->list({.heads = true}).size() == 2);
    }
}
