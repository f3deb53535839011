#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Nodes and routers that throw: what is reported, what is kept, and what runs again.
using namespace graphs;

namespace {

struct Switch {
    std::atomic<bool> fails{true};
    auto node(Log& log, std::string name) {
        return [this, &log, name](const State&) -> Update {
            log.add(name);
            if (fails) throw std::out_of_range(name + " is broken");
            return bar(name);
        };
    }
};

// START -> {bad, ok} -> end
App pairOf(Log& log, Switch& on, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("bad", on.node(log, "bad")).addNode("ok", appends(log, "ok")).addNode("end", appends(log, "end"));
    graph.addEdge(sg::START, "bad").addEdge(sg::START, "ok").addEdge(std::vector<std::string>{"bad", "ok"}, "end");
    return graph.compile({.checkpointer = saver});
}

}  // namespace

TEST_CASE("a failure names node, task, step and reason, and carries the original exception") {
    Log log;
    Switch on;
    const App app = pairOf(log, on, std::make_shared<sg::MemorySaver>());
    const auto error = thrown<sg::NodeError>([&] { app.invoke(bar("i"), {.thread_id = "t"}); });
    CHECK((error.code() == sg::Errc::node_failed));
    CHECK(error.context().node == "bad");
    CHECK(error.context().step == 1);
    CHECK(error.context().thread_id == "t");
    CHECK(error.reason() == "bad is broken");
    CHECK(error.message() == "node 'bad' failed: bad is broken");
    CHECK(error.interrupts().empty());
    CHECK_THROWS_AS(std::rethrow_exception(error.original()), std::out_of_range);
    const auto state = app.getState({.thread_id = "t"});
    REQUIRE(state.tasks.size() == 2);
    CHECK(state.tasks[0].id.toString() == error.taskId());
    CHECK(state.tasks[0].error == "bad is broken");
    CHECK_FALSE(state.tasks[1].error);
}

TEST_CASE("finished siblings are kept and shown, and only the unfinished run again") {
    savers::onEach([](savers::Store& store) {
        for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
            const sg::RunConfig config{.thread_id = std::to_string(static_cast<int>(durability)),
                                       .durability = durability};
            Log log;
            Switch on;
            CHECK_THROWS_AS(pairOf(log, on, store.open()).invoke(bar("i"), config), sg::NodeError);
            CHECK(log.takeSorted() == Strings{"bad", "ok"});
            {
                const App app = pairOf(log, on, store.open());
                const auto state = app.getState({.thread_id = config.thread_id});
                CHECK(state.values.bar == Strings{"i", "ok"});
                CHECK(state.next == Strings{"bad"});
                CHECK(app.getState(state.config).values.bar == Strings{"i"});
                CHECK_THROWS_AS(app.invoke(sg::RESUME, config), sg::NodeError);
                CHECK(log.take() == Strings{"bad"});
            }
            on.fails = false;
            CHECK(pairOf(log, on, store.open()).invoke(sg::RESUME, config).values.bar ==
                  Strings{"i", "bad", "ok", "end"});
            CHECK(log.take() == Strings{"bad", "end"});
        }
    });
}

// design 6: "tasks that failed or paused and later finished"
TEST_CASE("history shows both the error and the later result of a task") {
    Log log;
    Switch on;
    const App app = pairOf(log, on, std::make_shared<sg::MemorySaver>());
    CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t"}), sg::NodeError);
    on.fails = false;
    app.invoke(sg::RESUME, {.thread_id = "t"});
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
        if (snapshot.step != 0) continue;
        REQUIRE(snapshot.tasks.size() == 2);
        CHECK(snapshot.tasks[0].error == "bad is broken");
        CHECK(snapshot.tasks[0].result.toJson() == R"({"bar":["bad"]})");
    }
}

// Unlike the reference (quirk 28), which drops what the finished sibling wrote.
TEST_CASE("new input after a failure abandons what waits, and keeps what the finished sibling wrote") {
    Log log;
    Switch on;
    const App app = pairOf(log, on, std::make_shared<sg::MemorySaver>());
    CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t"}), sg::NodeError);
    on.fails = false;
    CHECK(app.invoke(bar("j"), {.thread_id = "t"}).values.bar == Strings{"i", "ok", "j", "bad", "ok", "end"});
    CHECK(log.count("ok") == 2);
}

TEST_CASE("of several failures the first in task order is reported, and each is stored") {
    Log log;
    Switch on;
    Graph graph;
    for (const char* name : {"c", "b"}) graph.addNode(name, on.node(log, name)).addEdge(sg::START, name);
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(thrown<sg::NodeError>([&] { app.invoke(Update{}, {.thread_id = "t"}); }).context().node == "b");
    const auto state = app.getState({.thread_id = "t"});
    CHECK(state.tasks.at(0).error == "b is broken");
    CHECK(state.tasks.at(1).error == "c is broken");
}

TEST_CASE("what is thrown need not be a std::exception, from a node or a router") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    for (const bool by_router : {false, true}) {
        for (const bool beside : {false, true}) {
            CAPTURE(by_router);
            CAPTURE(beside);
            Graph graph;
            graph.addNode("a", [by_router](const State&) -> Update {
                if (!by_router) throw 42;
                return {};
            });
            graph.addNode("b", appends("b")).addEdge(sg::START, "a");
            if (beside) graph.addEdge(sg::START, "b");
            graph.addConditionalEdges("a", [by_router](const State&) -> std::string {
                if (by_router) throw 42;
                return "b";
            });
            const App app = graph.compile({.checkpointer = saver});
            try {
                app.invoke(Update{}, {.thread_id = "t"});
                FAIL("it should have thrown");
            } catch (const sg::NodeError& error) {
                CHECK(error.context().node == "a");
                CHECK(error.reason() == "unknown exception");
                CHECK_THROWS_AS(std::rethrow_exception(error.original()), int);
            }
            CHECK(app.getState({.thread_id = "t"}).tasks.at(0).error == "unknown exception");
        }
    }
}

// quirk 13, quirk 14
TEST_CASE("a router that fails takes its node's writes with it, and the node runs again whole") {
    savers::onEach([](savers::Store& store) {
        for (const bool beside : {false, true}) {
            CAPTURE(beside);
            Log log;
            bool fails = true;
            Graph graph;
            graph.addNode("a", appends(log, "a")).addNode("z", appends(log, "z")).addEdge(sg::START, "a");
            if (beside) graph.addNode("b", appends(log, "b")).addEdge(sg::START, "b");
            graph.addConditionalEdges("a", [&fails](const State&) -> std::string {
                if (fails) throw std::runtime_error("which way?");
                return "z";
            });
            const App app = graph.compile({.checkpointer = store.open()});
            const std::string thread = beside ? "beside" : "alone";
            const auto error = thrown<sg::NodeError>([&] { app.invoke(bar("i"), {.thread_id = thread}); });
            CHECK(error.message() == "a router of node 'a' failed: which way?");
            CHECK(error.context().node == "a");
            const auto state = app.getState({.thread_id = thread});
            CHECK(state.next == Strings{"a"});
            CHECK(state.values.bar == (beside ? Strings{"i", "b"} : Strings{"i"}));
            fails = false;
            const auto done = app.invoke(sg::RESUME, {.thread_id = thread});
            CHECK(done.values.bar == (beside ? Strings{"i", "a", "b", "z"} : Strings{"i", "a", "z"}));
            CHECK(log.count("a") == 2);
        }
    });
}

// design 6: "reading state of a superstep whose writes conflict"
TEST_CASE("two values for a last-value channel in one superstep are an error, and state stays readable") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        for (const char* name : {"a", "b"}) {
            graph.addNode(name, [name](const State&) -> Update { return {sg::set(&State::foo, name)}; })
                .addEdge(sg::START, name);
        }
        const App app = graph.compile({.checkpointer = store.open()});
        const auto error =
            thrown<sg::InvalidUpdateError>([&] { app.invoke({sg::set(&State::foo, "i")}, {.thread_id = "t"}); });
        CHECK(error.context().channel == "foo");
        CHECK(contains(error.message(), "'a', 'b'"));
        CHECK(app.getState({.thread_id = "t"}).values.foo == "i");
        CHECK(app.invoke({sg::set(&State::foo, "j")}, {.thread_id = "t", .interrupt_before = {"*"}}).values.foo == "j");
    });
}

TEST_CASE("a single node that writes a last-value channel twice is refused, with a router too") {
    for (const bool routed : {false, true}) {
        const auto saver = std::make_shared<sg::MemorySaver>();
        Graph graph;
        graph.addNode("a", [](const State&) -> Update {
            return {sg::set(&State::foo, "x"), sg::set(&State::foo, "y")};
        });
        graph.addEdge(sg::START, "a");
        if (routed) graph.addConditionalEdges("a", [](const State&) { return sg::END; });
        const App app = graph.compile({.checkpointer = saver});
        CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t"}), sg::InvalidUpdateError);
        CHECK(app.getState({.thread_id = "t"}).next == Strings{"a"});
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"i"});
    }
}

TEST_CASE("a failing reducer fails the run by name, and the thread is as it was") {
    struct Picky {
        int n = 0;
        static constexpr auto channels() {
            return sg::channels(sg::channel("n", &Picky::n, sg::reduce("picky", [](const int& a, const int& b) {
                                                if (b < 0) throw std::domain_error("no negatives");
                                                return a + b;
                                            })));
        }
    };
    for (const auto durability : {sg::Durability::async, sg::Durability::exit}) {
        sg::StateGraph<Picky> graph;
        graph.addNode("a", [](const Picky&) -> sg::Update<Picky> {
            return {sg::add(&Picky::n, 1), sg::add(&Picky::n, -1)};
        });
        graph.addEdge(sg::START, "a");
        const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto error = thrown<sg::InvalidUpdateError>(
            [&] { app.invoke({sg::add(&Picky::n, 5)}, {.thread_id = "t", .durability = durability}); });
        CHECK(error.context().channel == "n");
        CHECK(app.getState({.thread_id = "t"}).values.n == 5);
        CHECK(app.getState({.thread_id = "t"}).next == Strings{"a"});
    }
}

TEST_CASE("nothing to resume is an error: a fresh thread and an unknown checkpoint") {
    Log log;
    Switch on;
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = pairOf(log, on, saver);
    CHECK_THROWS_AS(app.invoke(sg::RESUME, {.thread_id = "t"}), sg::EmptyInputError);
    // quirk 15: no lineage without a parent
    const sg::CheckpointId nowhere("00000000-0000-7000-8000-000000000001");
    CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t", .checkpoint_id = nowhere}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(app.invoke(bar("i"), {}), sg::InvalidArgumentError);
    CHECK(saver->list({}).empty());
}

// quirk 16: nothing pending, nothing stored
TEST_CASE("resuming a finished thread, by its newest checkpoint too, runs and stores nothing") {
    for (const auto durability : {sg::Durability::async, sg::Durability::exit}) {
        Log log;
        Switch on;
        on.fails = false;
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = pairOf(log, on, saver);
        const auto done = app.invoke(bar("i"), {.thread_id = "t"});
        const auto commits = saver->list({}).size();
        log.take();
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t", .durability = durability}).values == done.values);
        const auto again = app.invoke(
            sg::RESUME, {.thread_id = "t", .checkpoint_id = done.config.checkpoint_id, .durability = durability});
        CHECK(again.values == done.values);
        CHECK(log.take().empty());
        CHECK(saver->list({}).size() == commits);
    }
}
