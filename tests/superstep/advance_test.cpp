#include <doctest/doctest.h>

#include "tests/support/schedules.hpp"

// The transition from one superstep to the next: edges, joins, sends and deferred nodes.
using namespace schedules;

TEST_CASE("a chain runs one node a superstep and ends") {
    Walk walk({.nodes = {"a", "b"}, .edges = {{"__start__", "a"}, {"a", "b"}}});
    walk.input();
    CHECK(walk.step() == Strings{"a"});
    CHECK(walk.step() == Strings{"b"});
    CHECK(walk.step().empty());
    CHECK(walk.step().empty());
}

TEST_CASE("what changed together has the same version, and versions ascend") {
    Walk walk({.nodes = {"a", "b", "c"}, .edges = {{"__start__", "a"}, {"__start__", "b"}, {"a", "c"}}});
    walk.input();
    walk.step();
    const auto a = walk.schedule().edge(walk.topology().find("a")).version;
    CHECK(walk.schedule().edge(walk.topology().find("b")).version == a);
    walk.step();
    CHECK(walk.schedule().edge(walk.topology().find("c")).version > a);
}

TEST_CASE("a join waits for sources at unequal depth") {
    Walk walk({.nodes = {"a", "b", "b2", "c"},
               .edges = {{"__start__", "a"}, {"__start__", "b"}, {"b", "b2"}},
               .joins = {{{"a", "b2"}, "c"}}});
    walk.input();
    CHECK(walk.step() == Strings{"a", "b"});
    CHECK(walk.step() == Strings{"b2"});
    CHECK(walk.step() == Strings{"c"});
    CHECK(walk.step().empty());
}

TEST_CASE("a join in a loop is armed anew after it fired") {
    Walk walk({.nodes = {"a", "b", "c", "d"},
               .edges = {{"__start__", "a"}, {"a", "b"}, {"a", "c"}, {"d", "a"}},
               .joins = {{{"b", "c"}, "d"}}});
    walk.input();
    for (int round = 0; round < 3; ++round) {
        CHECK(walk.step() == Strings{"a"});
        CHECK(walk.step() == Strings{"b", "c"});
        CHECK(walk.step() == Strings{"d"});
        CHECK(walk.schedule().join(0).count == 2);
    }
    walk.step();
    CHECK(walk.schedule().join(0).count == 0);
}

TEST_CASE("a source that runs twice counts once for its join") {
    Walk walk({.nodes = {"a", "b", "c"}, .edges = {{"__start__", "a"}}, .joins = {{{"a", "b"}, "c"}}});
    walk.input();
    walk.step();
    CHECK(walk.step({{"a", {{"a"}, {}}}}) == Strings{"a"});
    CHECK(walk.step({{"a", {{"b"}, {}}}}) == Strings{"b"});
    CHECK(walk.step() == Strings{"c"});
    CHECK(walk.step().empty());
}

TEST_CASE("a source that runs again in the superstep of the join's target fills the join anew") {
    Walk walk(
        {.nodes = {"a", "b", "c"}, .edges = {{"__start__", "a"}, {"__start__", "b"}}, .joins = {{{"a", "b"}, "c"}}});
    walk.input();
    walk.step();
    CHECK(walk.step({{"a", {{"a"}, {}}}}) == Strings{"a", "c"});
    // a arrived again after c had consumed the full join.
    CHECK(walk.step().empty());
    CHECK(walk.schedule().join(0).count == 1);
    CHECK(walk.command({{"b"}, {}}) == Strings{"b"});
    CHECK(walk.step() == Strings{"c"});
}

TEST_CASE("a partly filled join keeps its arrivals when new input comes") {
    Walk walk({.nodes = {"a", "b", "c"}, .edges = {{"__start__", "a"}}, .joins = {{{"a", "b"}, "c"}}});
    walk.input();
    walk.step();
    CHECK(walk.step().empty());
    CHECK(walk.input() == Strings{"__start__"});
    walk.step();
    CHECK(walk.step({{"a", {{"b"}, {}}}}) == Strings{"b"});
    CHECK(walk.step() == Strings{"c"});
}

TEST_CASE("one node may be the source of several joins") {
    Walk walk({.nodes = {"a", "b", "c", "x", "y"},
               .edges = {{"__start__", "a"}, {"__start__", "b"}, {"b", "c"}},
               .joins = {{{"a", "b"}, "x"}, {{"a", "c"}, "y"}}});
    walk.input();
    walk.step();
    CHECK(walk.step() == Strings{"c", "x"});
    CHECK(walk.step() == Strings{"y"});
}

// design 6: "an edge and a join firing one node in one superstep"
TEST_CASE("an edge and a join that fire one node at once are both consumed by its one run") {
    Walk walk({.nodes = {"a", "b", "c"},
               .edges = {{"__start__", "a"}, {"__start__", "b"}, {"a", "c"}},
               .joins = {{{"a", "b"}, "c"}}});
    walk.input();
    walk.step();
    CHECK(walk.step() == Strings{"c"});
    CHECK(walk.step().empty());
    CHECK(walk.schedule().join(0).count == 0);
}

TEST_CASE("an edge alone does not consume its node's join") {
    Walk walk({.nodes = {"a", "b", "c"},
               .edges = {{"__start__", "a"}, {"a", "c"}, {"c", "b"}},
               .joins = {{{"a", "b"}, "c"}}});
    walk.input();
    walk.step();
    CHECK(walk.step() == Strings{"c"});
    CHECK(walk.step() == Strings{"b"});
    CHECK(walk.step() == Strings{"c"});
}

TEST_CASE("Sends live for one superstep, and new ones come after static edges") {
    Walk walk({.nodes = {"a", "w", "z"}, .edges = {{"__start__", "a"}, {"w", "z"}}});
    walk.input();
    walk.step();
    CHECK(walk.step({{"a", {{}, {"w", "w"}}}}) == Strings{"w#0", "w#1"});
    CHECK(walk.step({{"w#0", {{}, {"w"}}}}) == Strings{"z", "w#0"});
    CHECK(walk.step() == Strings{"z"});
    CHECK(walk.step().empty());
}

TEST_CASE("a deferred node waits until nothing else is due and then runs once") {
    Walk walk({.nodes = {"a", "b", "d"},
               .edges = {{"__start__", "a"}, {"__start__", "d"}, {"a", "b"}, {"b", "d"}},
               .deferred = {"d"}});
    walk.input();
    CHECK(walk.step() == Strings{"a"});
    CHECK(walk.step() == Strings{"b"});
    CHECK(walk.step() == Strings{"d"});
    CHECK(walk.step().empty());
}

// design 6: "a deferred node while Sends are pending"
TEST_CASE("a deferred node waits for sends as for everything else") {
    Walk walk({.nodes = {"a", "d", "w"}, .edges = {{"__start__", "a"}, {"__start__", "d"}}, .deferred = {"d"}});
    walk.input();
    CHECK(walk.step() == Strings{"a"});
    CHECK(walk.step({{"a", {{}, {"w"}}}}) == Strings{"w#0"});
    CHECK(walk.step({{"w#0", {{}, {"w"}}}}) == Strings{"w#0"});
    CHECK(walk.step() == Strings{"d"});
}

TEST_CASE("a join to a deferred node is released like an edge to one") {
    Walk walk({.nodes = {"a", "b", "c", "d", "e"},
               .edges = {{"__start__", "a"}, {"__start__", "b"}, {"__start__", "c"}, {"c", "e"}},
               .joins = {{{"a", "b"}, "d"}},
               .deferred = {"d"}});
    walk.input();
    CHECK(walk.step() == Strings{"a", "b", "c"});
    CHECK(walk.step() == Strings{"e"});
    CHECK(walk.step() == Strings{"d"});
    CHECK(walk.step().empty());
    CHECK(walk.schedule().join(0).count == 0);
}

TEST_CASE("a partly filled join to a deferred node is never released") {
    Walk walk(
        {.nodes = {"a", "b", "d"}, .edges = {{"__start__", "a"}}, .joins = {{{"a", "b"}, "d"}}, .deferred = {"d"}});
    walk.input();
    walk.step();
    CHECK(walk.step().empty());
}

TEST_CASE("deferred nodes that wait at once are released together, and those they lead to later") {
    Walk walk({.nodes = {"a", "d", "e", "f"},
               .edges = {{"__start__", "a"}, {"a", "d"}, {"a", "e"}, {"d", "f"}},
               .deferred = {"d", "e", "f"}});
    walk.input();
    walk.step();
    CHECK(walk.step() == Strings{"d", "e"});
    CHECK(walk.step() == Strings{"f"});
    CHECK(walk.step().empty());
}

TEST_CASE("a deferred node that its own edge leads back to runs again") {
    Walk walk({.nodes = {"d"}, .edges = {{"__start__", "d"}}, .deferred = {"d"}});
    walk.input();
    CHECK(walk.step() == Strings{"d"});
    CHECK(walk.step({{"d", {{"d"}, {}}}}) == Strings{"d"});
    CHECK(walk.step().empty());
}

TEST_CASE("new input abandons what was due, sends too, and a Command from outside does not") {
    Walk walk({.nodes = {"a", "b", "w"}, .edges = {{"__start__", "a"}}});
    walk.input();
    walk.step();
    walk.step({{"a", {{"b"}, {"w"}}}});
    CHECK(walk.command({{"a"}, {"w"}}) == Strings{"a", "b", "w#0", "w#1"});
    CHECK(walk.input() == Strings{"__start__"});
    CHECK(walk.step() == Strings{"a"});
}

TEST_CASE("the node that ran last is the one whose trigger is the newest") {
    Walk walk({.nodes = {"a", "b", "c"}, .edges = {{"__start__", "a"}, {"__start__", "b"}, {"b", "c"}}});
    CHECK(walk.lastRan() == "nobody");
    walk.input();
    CHECK(walk.lastRan() == "nobody");
    walk.step();
    CHECK(walk.lastRan() == "__start__");
    walk.step();
    CHECK(walk.lastRan() == "several");
    walk.step();
    CHECK(walk.lastRan() == "c");
    walk.input();
    CHECK(walk.lastRan() == "c");
}

// design 6: "`as_node` left out after a superstep of Sends"
TEST_CASE("after a superstep of sends nobody in particular ran last") {
    Walk walk({.nodes = {"a", "w", "z"}, .edges = {{"__start__", "a"}, {"w", "z"}}});
    walk.input();
    walk.step();
    walk.step({{"a", {{}, {"w"}}}});
    CHECK(walk.lastRan() == "a");
    walk.step();
    CHECK(walk.lastRan() == "several");
    walk.step();
    CHECK(walk.lastRan() == "z");
}

TEST_CASE("a schedule that is reset is as new") {
    const engine::Topology topology =
        draw({.nodes = {"a", "d"}, .edges = {{"__start__", "a"}}, .joins = {{{"a", "d"}, "d"}}, .deferred = {"d"}});
    engine::Schedule schedule;
    schedule.reset(topology);
    schedule.setEdge(topology.find("a"), engine::EdgeState::fired, 1);
    schedule.setEdge(topology.find("d"), engine::EdgeState::waiting, 1);
    schedule.arrive(topology, {0, 0}, 1);
    schedule.has_input = true;
    schedule.sends.push_back({topology.find("a"), {}, {}});
    schedule.reset(topology);
    std::vector<engine::PlannedTask> tasks;
    engine::plan(topology, schedule, tasks);
    CHECK(tasks.empty());
    CHECK(schedule.join(0).count == 0);
    CHECK(schedule.activeEdges().empty());
    CHECK(schedule.changedDeferred().empty());
}
