#include <doctest/doctest.h>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Static breakpoints before and after nodes, set at compile time or for a call.
using namespace graphs;

namespace {

App chain(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, const sg::NodeNames& before,
          const sg::NodeNames& after = {}) {
    Graph graph;
    for (const char* name : {"a", "b", "c"}) graph.addNode(name, appends(name));
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c");
    return graph.compile({.checkpointer = saver, .interrupt_before = before, .interrupt_after = after});
}

// How many nodes had run at each stop, until the run is done.
std::vector<std::size_t> stops(const App& app, const sg::RunConfig& config) {
    std::vector<std::size_t> all;
    auto result = app.invoke(Update{}, config);
    while (result.status == sg::Status::breakpoint) {
        CHECK(result.interrupts.empty());
        all.push_back(result.values.bar.size());
        result = app.invoke(sg::RESUME, config);
    }
    CHECK((result.status == sg::Status::done));
    CHECK(result.values.bar == Strings{"a", "b", "c"});
    return all;
}

using Stops = std::vector<std::size_t>;

}  // namespace

// quirk 26: the status says so
TEST_CASE("a breakpoint before a node stops once, and the run's status says so") {
    savers::onEach([](savers::Store& store) {
        const App app = chain(store.open(), {"b"});
        CHECK(stops(app, {.thread_id = "t"}) == Stops{1});
        CHECK((app.invoke(bar("again"), {.thread_id = "t"}).status == sg::Status::breakpoint));
        CHECK(app.getState({.thread_id = "t"}).next == Strings{"b"});
    });
}

TEST_CASE("a breakpoint after a node stops when its superstep is stored") {
    savers::onEach(
        [](savers::Store& store) { CHECK(stops(chain(store.open(), {}, {"b"}), {.thread_id = "t"}) == Stops{2}); });
}

TEST_CASE("breakpoints on every node stop at every superstep, START not counted") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    CHECK(stops(chain(saver, {"*"}), {.thread_id = "before"}) == Stops{0, 1, 2});
    CHECK(stops(chain(saver, {}, {"*"}), {.thread_id = "after"}) == Stops{1, 2, 3});
    CHECK(stops(chain(saver, {"a", "c"}, {"a"}), {.thread_id = "both"}) == Stops{0, 1, 2});
}

TEST_CASE("breakpoints given at the call replace the compiled ones") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = chain(saver, {"b"}, {"c"});
    CHECK(stops(app, {.thread_id = "1", .interrupt_before = {"c"}}) == Stops{2, 3});
    CHECK(stops(app, {.thread_id = "2", .interrupt_after = {"a"}}) == Stops{1});
    CHECK(stops(app, {.thread_id = "3", .interrupt_before = {"*"}, .interrupt_after = sg::NodeNames::none()}) ==
          Stops{0, 1, 2});
}

// quirk 21: an empty list is not an absent one
TEST_CASE("an empty list at the call disables the compiled breakpoints") {
    const App app = chain(std::make_shared<sg::MemorySaver>(), {"*"}, {"*"});
    CHECK(stops(app,
                {.thread_id = "t", .interrupt_before = sg::NodeNames::none(), .interrupt_after = sg::NodeNames::none()})
              .empty());
}

TEST_CASE("a breakpoint on an unknown node is refused, at compile and at call") {
    CHECK_THROWS_AS(chain(std::make_shared<sg::MemorySaver>(), {"nowhere"}), sg::InvalidGraphError);
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = chain(saver, {});
    for (const bool before : {true, false}) {
        sg::RunConfig config{.thread_id = "t"};
        (before ? config.interrupt_before : config.interrupt_after) = {"nowhere"};
        const auto error = thrown<sg::InvalidArgumentError>([&] { app.invoke(Update{}, config); });
        CHECK(contains(error.message(), "nowhere"));
    }
    CHECK(saver->list({}).empty());
}

TEST_CASE("breakpoints fire where nodes write nothing, and again in a loop") {
    int runs = 0;
    Graph graph;
    graph.addNode("a", [&runs](const State&) -> Update {
        ++runs;
        return {};
    });
    graph.addEdge(sg::START, "a");
    graph.addConditionalEdges("a", [&runs](const State&) { return runs < 3 ? "a" : sg::END; });
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .interrupt_before = {"a"}});
    auto result = app.invoke(Update{}, {.thread_id = "t"});
    for (int stop = 0; stop < 3; ++stop) {
        CHECK((result.status == sg::Status::breakpoint));
        CHECK(runs == stop);
        result = app.invoke(sg::RESUME, {.thread_id = "t"});
    }
    CHECK((result.status == sg::Status::done));
}

TEST_CASE("one named node stops the whole superstep, before any of it runs") {
    Log log;
    Graph graph;
    for (const char* name : {"a", "b"}) graph.addNode(name, appends(log, name)).addEdge(sg::START, name);
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .interrupt_before = {"b"}});
    app.invoke(Update{}, {.thread_id = "t"});
    CHECK(log.take().empty());
    CHECK(app.getState({.thread_id = "t"}).next == Strings{"a", "b"});
    CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"a", "b"});
}

TEST_CASE("a breakpoint inside a subgraph stops the run around it, and the subgraph continues where it was") {
    savers::onEach([](savers::Store& store) {
        Log log;
        Graph inner;
        inner.addNode("one", appends(log, "one")).addNode("two", appends(log, "two"));
        inner.addEdge(sg::START, "one").addEdge("one", "two");
        Graph graph;
        graph.addNode("sub", inner.compile({.interrupt_before = {"two"}})).addEdge(sg::START, "sub");
        const App app = graph.compile({.checkpointer = store.open()});
        const auto stopped = app.invoke(Update{}, {.thread_id = "t"});
        CHECK((stopped.status == sg::Status::breakpoint));
        CHECK(stopped.interrupts.empty());
        CHECK(app.getState({.thread_id = "t"}).next == Strings{"sub"});
        CHECK((app.invoke(sg::RESUME, {.thread_id = "t"}).status == sg::Status::done));
        CHECK(log.take() == Strings{"one", "two"});
    });
}

TEST_CASE("a Command resumes past a breakpoint, and its update is seen") {
    const App app = chain(std::make_shared<sg::MemorySaver>(), {"b"});
    app.invoke(Update{}, {.thread_id = "t"});
    CHECK(app.invoke(Command{.update = bar("x")}, {.thread_id = "t"}).values.bar == Strings{"a", "x", "b", "c"});
}

TEST_CASE("without a saver a breakpoint ends the run there") {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
    const auto result = graph.compile({.interrupt_before = {"b"}}).invoke(Update{});
    CHECK((result.status == sg::Status::breakpoint));
    CHECK(result.values.bar == Strings{"a"});
}
