#include <atomic>
#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// What happens to the other tasks of a superstep when one has failed.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

auto fails(Log& log, std::string name, std::atomic<bool>& broken) {
    return [&log, name, &broken](const State&) -> Update {
        log.add(name);
        if (broken) throw std::out_of_range(name + " is broken");
        return bar(name);
    };
}

// START -> a (ok), b (fails), c (ok), d (fails), e (ok); all in one superstep.
struct Five {
    Log log;
    std::atomic<bool> broken{true};

    App graph(sg::FailurePolicy policy, const std::shared_ptr<sg::BaseCheckpointSaver>& saver = {}) {
        Graph graph;
        for (const char* name : {"a", "c", "e"}) graph.addNode(name, appends(log, name)).addEdge(sg::START, name);
        for (const char* name : {"b", "d"}) graph.addNode(name, fails(log, name, broken)).addEdge(sg::START, name);
        return graph.compile({.checkpointer = saver, .on_failure = policy});
    }
};

std::string messageOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const sg::Error& own) {
        return own.message();
    }
}

}  // namespace

TEST_CASE("by default all tasks run, and the error is of the first failed one and carries no others") {
    Five five;
    const auto error = thrown<sg::NodeError>([&] { five.graph(sg::FailurePolicy::wait).invoke(Update{}); });
    CHECK(error.context().node == "b");
    CHECK(error.others().empty());
    CHECK(five.log.takeSorted() == Strings{"a", "b", "c", "d", "e"});
}

TEST_CASE("collect: all tasks run, and the error carries and names every failure, in the order of tasks") {
    for (const int concurrency : {1, 5}) {
        Five five;
        const App app = five.graph(sg::FailurePolicy::collect, std::make_shared<sg::MemorySaver>());
        const auto error =
            thrown<sg::NodeError>([&] { app.invoke(Update{}, {.thread_id = "t", .max_concurrency = concurrency}); });
        CHECK(five.log.takeSorted() == Strings{"a", "b", "c", "d", "e"});
        CHECK(error.context().node == "b");
        CHECK(error.message() == "node 'b' failed: b is broken");
        REQUIRE(error.others().size() == 1);
        CHECK(messageOf(error.others().front()) == "node 'd' failed: d is broken");
        CHECK(contains(error.what(), "b is broken"));
        CHECK(contains(error.what(), "and: node 'd' failed: d is broken"));
        CHECK(contains(error.what(), "thread 't'"));
    }
}

TEST_CASE("collect: what the library refuses is collected too, and a crowd of failures is counted") {
    Graph graph;
    graph.addNode("a", [](const State&) -> Command { return {.go_to = {"nowhere"}}; }).addEdge(sg::START, "a");
    for (int i = 10; i < 30; ++i) {
        const std::string name = "n" + std::to_string(i);
        graph.addNode(name, [](const State&) -> Update { throw std::runtime_error("broken"); })
            .addEdge(sg::START, name);
    }
    const auto error = thrown<sg::InvalidUpdateError>(
        [&] { graph.compile({.on_failure = sg::FailurePolicy::collect}).invoke(Update{}); });
    REQUIRE(error.others().size() == 20);
    CHECK(messageOf(error.others().back()) == "node 'n29' failed: broken");
    CHECK(contains(error.what(), "'n19'"));
    CHECK_FALSE(contains(error.what(), "'n20'"));
    CHECK(contains(error.what(), "and 10 more"));
}

TEST_CASE("collect: failures inside a subgraph come before those of its siblings") {
    Five five;
    Graph graph;
    graph.addNode("sub", five.graph(sg::FailurePolicy::collect)).addEdge(sg::START, "sub");
    graph.addNode("z", fails(five.log, "z", five.broken)).addEdge(sg::START, "z");
    const auto error =
        thrown<sg::NodeError>([&] { graph.compile({.on_failure = sg::FailurePolicy::collect}).invoke(Update{}); });
    CHECK(error.context().node == "b");
    REQUIRE(error.others().size() == 2);
    CHECK(messageOf(error.others()[0]) == "node 'd' failed: d is broken");
    CHECK(messageOf(error.others()[1]) == "node 'z' failed: z is broken");
}

TEST_CASE("cancel_siblings: what has not begun is not started, what has finished is kept, and RESUME runs the rest") {
    savers::onEach([](savers::Store& store) {
        for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
            Five five;
            const sg::RunConfig config{.thread_id = std::to_string(static_cast<int>(durability)),
                                       .durability = durability,
                                       .max_concurrency = 1};
            const auto error = thrown<sg::NodeError>(
                [&] { five.graph(sg::FailurePolicy::cancel_siblings, store.open()).invoke(Update{}, config); });
            CHECK(error.context().node == "b");
            CHECK(five.log.take() == Strings{"a", "b"});
            {
                const auto saver = store.open();
                const App app = five.graph(sg::FailurePolicy::cancel_siblings, saver);
                const auto state = app.getState({.thread_id = config.thread_id});
                CHECK(state.values.bar == Strings{"a"});
                CHECK(state.next == Strings{"b", "c", "d", "e"});
                // The thread has failed, so it does not count as in flight.
                const auto unfinished = saver->unfinishedThreads();
                REQUIRE(unfinished.size() == 1);
                CHECK((unfinished.front().reason == sg::Status::failed));
                CHECK(unfinished.front().error == "b is broken");
                CHECK(app.recover().empty());
                CHECK(five.log.entries().empty());
            }
            five.broken = false;
            CHECK(five.graph(sg::FailurePolicy::cancel_siblings, store.open()).invoke(sg::RESUME, config).values.bar ==
                  Strings{"a", "b", "c", "d", "e"});
            CHECK(five.log.take() == Strings{"b", "c", "d", "e"});
        }
    });
}

TEST_CASE("cancel_siblings: tasks that run already end, and their results are kept") {
    Log log;
    Signal b_runs;
    Signal a_failed;
    Graph graph;
    graph.addNode("a", [&](const State&) -> Update {
        if (!b_runs.await()) log.add("b never began");
        a_failed.give();
        throw std::runtime_error("broken");
    });
    graph.addNode("b", [&](const State&) -> Update {
        b_runs.give();
        if (!a_failed.await()) log.add("a never failed");
        return bar("b");
    });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
    const App app = graph.compile(
        {.checkpointer = std::make_shared<sg::MemorySaver>(), .on_failure = sg::FailurePolicy::cancel_siblings});
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t", .max_concurrency = 2}), sg::NodeError);
    CHECK(log.entries().empty());
    CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"b"});
}

TEST_CASE(
    "cancel_siblings: a failure that is tried again, or handled, stops no task; in turn a task that waits for a retry "
    "has begun") {
    Log log;
    Graph graph;
    graph.addNode("a",
                  [&](const State&, sg::Runtime& runtime) -> Update {
                      log.add("a");
                      if (runtime.attempt() == 1) throw std::runtime_error("not yet");
                      return bar("a");
                  },
                  {.retry = {.max_attempts = 2, .initial_interval = 0ms}});
    graph.addNode("b", [&](const State&) -> Update {
        log.add("b");
        throw std::runtime_error("broken");
    });
    graph.addNode("c", appends(log, "c"));
    for (const char* name : {"a", "b", "c"}) graph.addEdge(sg::START, name);
    Graph handled = graph;
    handled.onError("b", [](const State&, const sg::NodeFailure&) -> Update { return bar("handled"); });
    CHECK(handled.compile({.on_failure = sg::FailurePolicy::cancel_siblings})
              .invoke(Update{}, {.max_concurrency = 1})
              .values.bar == Strings{"a", "handled", "c"});
    log.take();
    CHECK_THROWS_AS(
        graph.compile({.on_failure = sg::FailurePolicy::cancel_siblings}).invoke(Update{}, {.max_concurrency = 1}),
        sg::NodeError);
    CHECK(log.take() == Strings{"a", "b", "a"});
}

TEST_CASE("cancel_siblings: while a run continues over such a failure the thread is in flight, and failed after it") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::atomic<bool> broken{true};
    bool was_in_flight = false;
    Graph graph;
    graph.addNode("a", [&](const State&) -> Update {
        if (!broken) was_in_flight = saver->unfinishedThreads().at(0).reason == sg::Status::in_flight;
        throw std::runtime_error("broken");
    });
    graph.addNode("b", appends("b")).addEdge(sg::START, "a").addEdge(sg::START, "b");
    const App app = graph.compile({.checkpointer = saver, .on_failure = sg::FailurePolicy::cancel_siblings});
    const sg::RunConfig config{.thread_id = "t", .max_concurrency = 1};
    CHECK_THROWS_AS(app.invoke(Update{}, config), sg::NodeError);
    CHECK((saver->unfinishedThreads().at(0).reason == sg::Status::failed));
    broken = false;
    CHECK_THROWS_AS(app.invoke(sg::RESUME, config), sg::NodeError);
    CHECK(was_in_flight);
    CHECK((saver->unfinishedThreads().at(0).reason == sg::Status::failed));
}
