#include <functional>
#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "tests/run/controlled.hpp"
#include "tests/support/drivers.hpp"

// Nodes that ask for the end of their run (Runtime::requestDrain).
using namespace graphs;
using namespace controlled;

namespace {

std::function<Update(const State&, sg::Runtime&)> drains(Log& log, std::string name) {
    return [&log, name = std::move(name)](const State&, sg::Runtime& runtime) -> Update {
        log.add(name);
        CHECK_FALSE(runtime.drainRequested());
        runtime.requestDrain();
        runtime.requestDrain();
        CHECK(runtime.drainRequested());
        CHECK_FALSE(runtime.stopRequested());
        return bar(name);
    };
}

}  // namespace

TEST_CASE("a node has its run end after the superstep in all drivers, and recover drives the thread on") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto saver = std::make_shared<sg::MemorySaver>();
        Log log;
        Graph graph;
        graph.addNode("a", drains(log, "a")).addNode("beside", appends(log, "beside")).addNode("b", appends(log, "b"));
        graph.addEdge(sg::START, "a").addEdge(sg::START, "beside").addEdge("a", "b");
        const App app = graph.compile({.checkpointer = saver});
        const auto drained = driver.run(app, Update{}, {.thread_id = "t"});
        REQUIRE(drained.what() == "");
        CHECK((drained.status == Status::drained));
        CHECK(log.takeSorted() == Strings{"a", "beside"});
        CHECK((reasonOf(saver) == Status::in_flight));
        REQUIRE(app.recover().size() == 1);
        CHECK(log.take() == Strings{"b"});
        CHECK(app.getState(thread_t).values.bar == Strings{"a", "beside", "b"});
    }
}

TEST_CASE("a node of a graph inside has the whole run end, and RESUME continues inside") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        Log log;
        Graph inner;
        inner.addNode("a", drains(log, "a")).addNode("b", appends(log, "b"));
        inner.addEdge(sg::START, "a").addEdge("a", "b");
        Graph graph;
        graph.addNode("inside", inner.compile()).addNode("after", appends(log, "after"));
        graph.addEdge(sg::START, "inside").addEdge("inside", "after");
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto drained = driver.run(app, Update{}, {.thread_id = "t"});
        REQUIRE(drained.what() == "");
        CHECK((drained.status == Status::drained));
        CHECK(log.take() == Strings{"a"});
        CHECK((driver.run(app, sg::RESUME, {.thread_id = "t"}).status == Status::done));
        CHECK(log.take() == Strings{"b", "after"});
    }
}

TEST_CASE("a run in which nothing is due is done, though a node asked for its end") {
    Log log;
    Graph graph;
    graph.addNode("a", drains(log, "a")).addEdge(sg::START, "a");
    CHECK((graph.compile().invoke({}, {}).status == Status::done));
}

TEST_CASE("a router that an edit asks cannot end a run") {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b"));
    graph.addEdge(sg::START, "a");
    graph.addConditionalEdges("a", [](const State&, sg::Runtime& runtime) {
        runtime.requestDrain();
        return std::string("b");
    });
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK((app.invoke({}, {.thread_id = "t"}).status == Status::drained));
    CHECK_THROWS_WITH_AS(app.updateState({.thread_id = "other"}, bar("x"), {.as_node = "a"}),
                         doctest::Contains("a router cannot end its run while its node's state is edited"),
                         sg::InvalidUpdateError);
}
