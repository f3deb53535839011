#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"
#include "tests/support/manual_clock.hpp"

// The states of subgraphs, seen from the graph around them, and by their own namespace.
namespace sg = stategraph;
using namespace history;

namespace {

sg::Update<Line> nothing(const Line&) { return {}; }
sg::Update<Line> take(const Line& inner) { return {sg::add(&Line::v, inner.v)}; }

LineGraph around(const LineApp& inner, const std::string& name) {
    LineGraph graph;
    graph.addNode("a", saying("a")).addNode(name, inner, nothing, take).addNode("z", saying("z"));
    graph.addEdge(sg::START, "a").addEdge("a", name).addEdge(name, "z");
    return graph;
}

// a → outer(a → inner(p, q ask at once) → z) → z
LineApp nested(const SharedSaver& saver) {
    LineGraph inner;
    for (const char* name : {"p", "q"}) inner.addNode(name, asking(name)).addEdge(sg::START, name);
    return around(around(inner.compile(), "inner").compile(), "outer").compile({.checkpointer = saver});
}

}  // namespace

TEST_CASE("subgraphs' states are shown where they are asked for, at any depth") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = nested(saver);
        CHECK((app.invoke(says("i"), {.thread_id = "t"}).status == sg::Status::interrupted));

        const auto plain = app.getState({.thread_id = "t"});
        CHECK(plain.next == Words{"outer"});
        REQUIRE(plain.tasks.size() == 1);
        CHECK(!plain.tasks[0].state);
        REQUIRE(plain.tasks[0].state_config);
        CHECK(plain.tasks[0].state_config->checkpoint_ns == "outer:" + plain.tasks[0].id.toString());

        const auto deep = app.getState({.thread_id = "t"}, {.subgraphs = true});
        REQUIRE(deep.tasks[0].state);
        const sg::SnapshotData& outer = *deep.tasks[0].state;
        CHECK(outer.values_as_cbor.toJson() == R"({"v":["a"]})");
        CHECK(outer.next == Words{"inner"});
        CHECK(outer.config.checkpoint_ns == plain.tasks[0].state_config->checkpoint_ns);
        CHECK(outer.config.checkpoint_id);
        REQUIRE(outer.tasks.size() == 1);
        REQUIRE(outer.tasks[0].state);
        const sg::SnapshotData& inner = *outer.tasks[0].state;
        CHECK(inner.next == Words{"p", "q"});
        CHECK(inner.config.checkpoint_ns == outer.config.checkpoint_ns + "|inner:" + outer.tasks[0].id.toString());
        CHECK(inner.interrupts().size() == 2);
    });
}

TEST_CASE("\"several interrupts inside one subgraph\": all are on the parent's task and in the result") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = nested(saver);
        const auto result = app.invoke(says("i"), {.thread_id = "t"});
        REQUIRE(result.interrupts.size() == 2);
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.interrupts() == result.interrupts);
        CHECK(taskOf(state, "outer").open_interrupts == result.interrupts);
        // Answered one by one.
        const auto first = app.invoke(sg::Command<>{.answers = {{result.interrupts[0].id, "1"}}}, {.thread_id = "t"});
        REQUIRE(first.interrupts.size() == 1);
        CHECK(app.getState({.thread_id = "t"}).interrupts() == first.interrupts);
        const auto second = app.invoke(sg::Command<>{.resume = "2"}, {.thread_id = "t"});
        CHECK((second.status == sg::Status::done));
        CHECK(second.values.v == Words{"i", "a", "a", "p:1", "q:2", "z", "z"});
    });
}

TEST_CASE("a subgraph's state and history are read by its namespace") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = nested(saver);
        app.invoke(says("i"), {.thread_id = "t"});
        const sg::Config config = *app.getState({.thread_id = "t"}).tasks[0].state_config;
        const auto state = app.getState(config);
        CHECK(state.values.v == Words{"a"});
        CHECK(state.next == Words{"inner"});
        const auto past = pastOf(app, config);
        CHECK(stepsOf(past) == std::vector<std::int64_t>{-1, 0, 1});
        CHECK(past.back().config == state.config);
        CHECK(past[2].parent_config == past[1].config);
        CHECK(app.getState(past[1].config).next == Words{"a"});
    });
}

TEST_CASE("a finished subgraph task shows no state any more, its log can still be read") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = around(chainOf({"p"}).compile(), "inner").compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(app.getState({.thread_id = "t"}, {.subgraphs = true}).tasks.empty());
        const auto past = pastOf(app, {.thread_id = "t"});
        REQUIRE(past.size() == 5);
        const auto& task = taskOf(past[2], "inner");
        CHECK(task.finished);
        CHECK(task.result.toJson() == R"({"v":["p"]})");
        const sg::Config log{.thread_id = "t", .checkpoint_ns = "inner:" + task.id.toString()};
        CHECK(app.getState(log).values.v == Words{"p"});
    });
}

TEST_CASE("an edit of a subgraph's log has its id from the graph's source, as a run's commits have") {
    LineGraph inner;
    inner.addNode("ask", asking("ask")).addEdge(sg::START, "ask");
    const auto clock = ManualClock::make();
    const LineApp app =
        around(inner.compile(), "inner").compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .ids = clock});
    app.invoke(sg::Update<Line>{}, {.thread_id = "t"});
    const sg::Config log = *app.getState({.thread_id = "t"}).tasks.at(0).state_config;
    clock->passMs(1000);
    CHECK(app.updateState(log, says("edit"), {.as_node = "ask"}).checkpoint_id.time() == clock->now());
}

TEST_CASE("a namespace that no subgraph has is an error that names it") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = nested(saver);
        app.invoke(says("i"), {.thread_id = "t"});
        for (const char* ns : {"nobody", "a", "outer|nobody:00", "outer|a"}) {
            const sg::Config config{.thread_id = "t", .checkpoint_ns = ns};
            CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.getState(config); }), {ns}));
            CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return historyOf(app, config).size(); }), {ns}));
            CHECK(
                mentions(errorOf<sg::InvalidArgumentError>([&] { return app.updateState(config, says("x")); }), {ns}));
        }
        const sg::Config inner = *app.getState({.thread_id = "t"}).tasks[0].state_config;
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::RESUME, inner); }), {"outer"}));
    });
}
