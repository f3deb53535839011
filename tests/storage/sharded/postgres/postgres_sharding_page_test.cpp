// The code of docs/sharding.md.
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/postgres_shards.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/storage/sharded/postgres/postgres_shards_helper.hpp"

namespace sg = stategraph;

namespace {

struct State {
    int n = 0;
    static constexpr auto channels() { return sg::channels<&State::n>(); }
};

}  // namespace

TEST_CASE("the programs of the page on sharding set up clusters, run a graph on them, and move slots") {
    const postgres_tests::Clusters schemas(2);
    sg::StateGraph<State> graph;
    graph.addNode("add", [](const State& state) { return sg::set<&State::n>(state.n + 1); });
    graph.addEdge(sg::START, "add").addEdge("add", sg::END);
    const std::string first = schemas.server(0);
    const std::string second = schemas.server(1);
    const auto in = [&](std::size_t i) { return schemas.settings()[i].options; };
    // [begin set up]
    // "postgresql://agent@db1.internal/threads", "postgresql://agent@db2.internal/threads"
    const std::vector<sg::PostgresCluster> clusters{{.name = "first", .conninfo = first, .options = in(0)},
                                                    {.name = "second", .conninfo = second, .options = in(1)}};
    sg::PostgresShards::setUp(clusters);  // once, for instance when a cluster is added
    const auto shards = std::make_shared<sg::PostgresShards>(clusters);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::ShardedSaver>(shards)});
    // [end set up]
    for (int i = 0; i < 20; ++i)
        (void)app.invoke({sg::set<&State::n>(i)}, {.thread_id = "thread " + std::to_string(i)});
    CHECK(schemas.run(0, "SELECT count(*) > 0 FROM {S}.logs") == "t");
    CHECK(schemas.run(1, "SELECT count(*) > 0 FROM {S}.logs") == "t");
    // [begin move]
    std::vector<std::size_t> slots = shards->slotsOf("first");
    slots.resize(slots.size() / 2);
    const sg::SlotMoveReport report =
        shards->moveSlots(slots, "second", {.on_progress = [](const sg::SlotMoveEvent& event) {
                              if (event.step == sg::SlotMoveStep::moved)
                                  std::clog << "slot " << event.slot << " moved\n";
                          }});
    // [end move]
    CHECK(report.slots == 256);
    CHECK(shards->slotsOf("first").size() == 256);
    for (int i = 0; i < 20; ++i) CHECK(app.getState({.thread_id = "thread " + std::to_string(i)}).values.n == i + 1);
}
