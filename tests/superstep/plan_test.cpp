#include <doctest/doctest.h>

#include "tests/support/schedules.hpp"

// Which tasks are due: a pure function of a schedule.
using namespace schedules;

TEST_CASE("nothing is due on an empty schedule, and the start node on one with input") {
    Walk walk({.nodes = {"a"}, .edges = {{"__start__", "a"}}});
    CHECK(walk.due().empty());
    CHECK(walk.input() == Strings{"__start__"});
}

TEST_CASE("tasks are planned by the nodes' names and not by the order of edges") {
    Walk walk({.nodes = {"c", "a", "b"}, .edges = {{"__start__", "c"}, {"__start__", "a"}, {"__start__", "b"}}});
    walk.input();
    CHECK(walk.step() == Strings{"a", "b", "c"});
}

TEST_CASE("sends come after triggered nodes, in the order they were sent") {
    Walk walk({.nodes = {"a", "b", "w", "z"}, .edges = {{"__start__", "b"}, {"__start__", "a"}}});
    walk.input();
    CHECK(walk.step() == Strings{"a", "b"});
    CHECK(walk.step({{"b", {{"z"}, {"w", "a"}}}, {"a", {{}, {"z", "w"}}}}) == Strings{"z", "z#0", "w#1", "w#2", "a#3"});
}

TEST_CASE("several sends to one node are several tasks, several edges to it are one") {
    Walk walk({.nodes = {"a", "b", "w"}, .edges = {{"__start__", "a"}, {"__start__", "b"}, {"a", "w"}, {"b", "w"}}});
    walk.input();
    walk.step();
    CHECK(walk.step({{"a", {{"w"}, {"w"}}}, {"b", {{}, {"w"}}}}) == Strings{"w", "w#0", "w#1"});
}

// design 6: "an edge and a join firing one node in one superstep"
TEST_CASE("an edge and a join that fire one node at once make one task, triggered by the newest") {
    const engine::Topology topology =
        draw({.nodes = {"a", "b", "c"}, .edges = {{"b", "c"}}, .joins = {{{"a", "b"}, "c"}}});
    engine::Schedule schedule;
    schedule.reset(topology);
    const auto c = topology.find("c");
    schedule.arrive(topology, {0, 0}, 3);
    schedule.arrive(topology, {0, 1}, 7);
    schedule.setEdge(c, engine::EdgeState::fired, 5);
    schedule.tidy();
    std::vector<engine::PlannedTask> tasks;
    engine::plan(topology, schedule, tasks);
    REQUIRE(tasks.size() == 1);
    CHECK(tasks[0].node == c);
    CHECK(tasks[0].version == 7);
}

TEST_CASE("a join that is partly filled is not due") {
    Walk walk({.nodes = {"a", "b", "c"}, .joins = {{{"a", "b"}, "c"}}});
    walk.schedule().arrive(walk.topology(), {0, 1}, 1);
    CHECK(walk.due().empty());
    CHECK_FALSE(walk.schedule().arrive(walk.topology(), {0, 1}, 2));
    CHECK(walk.due().empty());
    walk.schedule().arrive(walk.topology(), {0, 0}, 3);
    CHECK(walk.due() == Strings{"c"});
}

TEST_CASE("edges and joins to deferred nodes are due once they are released") {
    Walk walk({.nodes = {"a", "b", "d", "e"}, .joins = {{{"a", "b"}, "e"}}, .deferred = {"d", "e"}});
    const auto d = walk.topology().find("d");
    walk.schedule().setEdge(d, engine::EdgeState::waiting, 1);
    walk.schedule().arrive(walk.topology(), {0, 0}, 1);
    walk.schedule().arrive(walk.topology(), {0, 1}, 1);
    CHECK(walk.due().empty());
    walk.schedule().setEdge(d, engine::EdgeState::released, 2);
    walk.schedule().releaseJoin(0, 2);
    CHECK(walk.due() == Strings{"d", "e"});
}

TEST_CASE("planning changes nothing and gives the same each time") {
    Walk walk({.nodes = {"a", "b"}, .edges = {{"__start__", "a"}, {"__start__", "b"}}});
    walk.input();
    walk.step();
    const auto version = walk.schedule().version;
    const Strings first = walk.due();
    CHECK(walk.due() == first);
    CHECK(walk.schedule().version == version);
}
