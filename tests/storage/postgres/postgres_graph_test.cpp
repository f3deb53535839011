// Graphs on PostgreSQL: round trips per superstep, the encrypting saver around it, and threads that are moved there
// from another store.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/export.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/testing/saver_contract/support.hpp>
#include <stategraph/unfinished.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#if STATEGRAPH_HAS_ENCRYPTION
#include "tests/support/encryption.hpp"
#endif

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;

namespace {

struct Counted {
    int n = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return stategraph::channels(channel("n", &Counted::n), channel("log", &Counted::log, append));
    }
};

CompiledGraph<Counted> loopTo(int steps, std::shared_ptr<BaseCheckpointSaver> saver) {
    StateGraph<Counted> graph;
    graph.addNode("work", [](const Counted& state) -> Update<Counted> {
        return {set(&Counted::n, state.n + 1), add(&Counted::log, "entry " + std::to_string(state.n))};
    });
    graph.addEdge(START, "work").addConditionalEdges("work", [steps](const Counted& state) {
        return state.n < steps ? "work" : END;
    });
    return graph.compile({.checkpointer = std::move(saver)});
}

}  // namespace

TEST_CASE(
    "a superstep on PostgreSQL is one round trip, whatever the durability, and with async several may share one") {
    constexpr int steps = 500;
    for (const auto& [prepared, ahead] : {std::pair(true, 1U), std::pair(false, 1U), std::pair(true, 32U)}) {
        const Schema schema;
        const std::shared_ptr<PostgresSaver> saver =
            schema.open({.prepared_statements = prepared, .commits_ahead = ahead});
        const auto app = loopTo(steps, saver);
        int number = 0;
        for (const Durability durability : {Durability::async, Durability::sync}) {
            CAPTURE(prepared);
            CAPTURE(ahead);
            const std::string thread = "t" + std::to_string(++number);
            const auto before = saver->roundTrips();
            const auto result = app.invoke(
                {set(&Counted::n, 0)}, {.thread_id = thread, .durability = durability, .recursion_limit = steps + 1});
            CHECK(result.values.n == steps);
            const auto trips = saver->roundTrips() - before;
            CAPTURE(trips);
            // The two commits of the input, the reads at the beginning of a run, and the statements prepared once per
            // connection.
            if (ahead == 1 || durability == Durability::sync) CHECK(trips >= steps + 2);
            CHECK(trips <= steps + 16);
            CHECK(saver->list({.thread_id = thread}).size() == steps + 2);
        }
        const auto before = saver->roundTrips();
        (void)app.invoke({set(&Counted::n, steps - 1)}, {.thread_id = "short"});
        CHECK(saver->roundTrips() - before <= 5);
        CHECK(saver->countThreads(10)->done() == 3);
        CHECK(saver->countThreads(10)->open() == 0);
    }
}

TEST_CASE(
    "a page of a list, a checkpoint with all that it needs and a deletion cost the same however long the thread") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"t"}, 300, true);
    (void)saver->getTuple({.log = {"t"}});
    (void)saver->list({.thread_id = "t", .limit = 1});
    (void)saver->list({.thread_id = "t"});
    const auto tripsOf = [&](auto&& call) {
        const auto before = saver->roundTrips();
        call();
        return saver->roundTrips() - before;
    };
    CHECK(tripsOf([&] { CHECK(saver->getTuple({.log = {"t"}})->commits.size() == 300); }) == 1);
    CHECK(tripsOf([&] { CHECK(saver->list({.thread_id = "t", .limit = 7}).size() == 7); }) == 1);
    CHECK(tripsOf([&] { CHECK(saver->list({.thread_id = "t"}).size() == 300); }) == 1);
    saver->deleteThread("t");
    putLine(*saver, {"t"}, 2);
    CHECK(tripsOf([&] { saver->deleteThread("t"); }) == 3);
}

TEST_CASE("a checkpoint that was forked often is read without the commits of its other branches") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"t"}, 3, true);
    for (unsigned n = 4; n <= 103; ++n) putOne(*saver, {"t"}, nthId(n - 1), makeCommit(n, 3, 1));
    const auto newest = saver->getTuple({.log = {"t"}});
    REQUIRE(newest);
    CHECK(idsOf(newest->commits) == nthIds({1, 2, 3, 103}));
    const auto early = saver->getTuple({.log = {"t"}, .checkpoint_id = nthId(5)});
    REQUIRE(early);
    CHECK(early->commits.back().id == nthId(5));
    CHECK(early->next->id == nthId(6));
    CHECK(readChannels({"t"}, *early) == readChannels({"t"}, *newest));
}

TEST_CASE("a thread in memory moves to PostgreSQL with its ids, its question and its history") {
    StateGraph<Counted> graph;
    graph.addNode("ask", [](const Counted& state, Runtime& runtime) -> Update<Counted> {
        const auto answer = interrupt<std::string>(runtime, "go on?");
        return {set(&Counted::n, state.n + 1), add(&Counted::log, answer)};
    });
    graph.addEdge(START, "ask").addEdge("ask", END);
    const auto memory = std::make_shared<MemorySaver>();
    (void)graph.compile({.checkpointer = memory}).invoke({set(&Counted::n, 1)}, {.thread_id = "t"});
    std::stringstream lines;
    exportThread(*memory, "t", lines);

    const Schema schema;
    const std::shared_ptr<PostgresSaver> saver = schema.open();
    importThread(*saver, lines);
    CHECK(listIds(*saver, {"t"}) == listIds(*memory, {"t"}));
    const auto waiting = saver->unfinishedThreads();
    REQUIRE(waiting.size() == 1);
    CHECK((waiting[0].reason == Status::interrupted));
    const auto result = graph.compile({.checkpointer = saver}).invoke(resume(std::string("yes")), {.thread_id = "t"});
    CHECK(result.values.log == std::vector<std::string>{"yes"});
}

#if STATEGRAPH_HAS_ENCRYPTION
TEST_CASE("what an EncryptedSaver keeps in PostgreSQL is sealed there, is read, pruned whole and listed in the index") {
    const Schema schema;
    const std::shared_ptr<PostgresSaver> inside = schema.open();
    const auto saver = std::make_shared<EncryptedSaver>(inside, encryption::key("key"));
    const auto app = loopTo(30, saver);
    (void)app.invoke({set(&Counted::n, 0)}, {.thread_id = "t", .recursion_limit = 40});
    for (const auto& row : inside->list({})) CHECK(row.bytes.view().find("entry 7") == std::string::npos);
    CHECK(saver->prune({.keep_last = 2, .rewrite = Rewrite::always}) == 30);
    CHECK(app.getState({.thread_id = "t"}).values.log.size() == 30);
    CHECK(saver->countThreads(5)->done() == 1);
    CHECK(inside->list({}).size() == 2);
}
#endif
