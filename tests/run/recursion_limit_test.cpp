#include <limits>
#include <utility>

#include <doctest/doctest.h>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

using namespace graphs;

namespace {

App chain(int nodes, const std::shared_ptr<sg::BaseCheckpointSaver>& saver = {}) {
    Graph graph;
    std::string last = sg::START;
    for (int i = 1; i <= nodes; ++i) {
        const std::string name = "n" + std::to_string(100 + i);
        graph.addNode(name, appends(std::to_string(i)));
        graph.addEdge(std::exchange(last, name), name);
    }
    return saver ? graph.compile({.checkpointer = saver}) : graph.compile();
}

}  // namespace

// design 6: "a run that needs exactly the recursion limit"; quirk 34: supersteps of START do not count
TEST_CASE("k supersteps pass with limit k and fail with k - 1") {
    for (int nodes = 2; nodes <= 5; ++nodes) {
        CAPTURE(nodes);
        const App app = chain(nodes);
        CHECK(app.invoke(Update{}, {.recursion_limit = nodes}).values.bar.size() == static_cast<std::size_t>(nodes));
        const auto error =
            thrown<sg::GraphRecursionError>([&] { app.invoke(Update{}, {.recursion_limit = nodes - 1}); });
        CHECK((error.code() == sg::Errc::recursion_limit));
        CHECK(contains(error.message(), "recursion_limit"));
        CHECK(error.context().node == "n" + std::to_string(100 + nodes));
        CHECK(error.context().step == nodes);
    }
}

TEST_CASE("the limit is 25 where none is given") {
    CHECK(chain(25).invoke(Update{}).values.bar.size() == 25);
    CHECK_THROWS_AS(chain(26).invoke(Update{}), sg::GraphRecursionError);
}

TEST_CASE("an endless loop ends at the limit") {
    Graph graph;
    graph.addNode("a", appends("a")).addEdge(sg::START, "a");
    graph.addConditionalEdges("a", [](const State&) { return "a"; });
    CHECK_THROWS_AS(graph.compile().invoke(Update{}, {.recursion_limit = 7}), sg::GraphRecursionError);
}

TEST_CASE("what was done before the limit is kept, and a resumed run has the whole limit again") {
    savers::onEach([](savers::Store& store) {
        for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
            const std::string thread = "t" + std::to_string(static_cast<int>(durability));
            const App app = chain(5, store.open());
            const sg::RunConfig config{.thread_id = thread, .durability = durability, .recursion_limit = 2};
            CHECK_THROWS_AS(app.invoke(Update{}, config), sg::GraphRecursionError);
            CHECK(app.getState({.thread_id = thread}).next == Strings{"n103"});
            CHECK_THROWS_AS(app.invoke(sg::RESUME, config), sg::GraphRecursionError);
            CHECK(app.getState({.thread_id = thread}).values.bar == Strings{"1", "2", "3", "4"});
            const auto result = app.invoke(sg::RESUME, config);
            CHECK((result.status == sg::Status::done));
            CHECK(result.values.bar == Strings{"1", "2", "3", "4", "5"});
        }
    });
}

TEST_CASE("a superstep of many tasks counts once") {
    Graph graph;
    for (const char* name : {"a", "b", "c"}) graph.addNode(name, appends(name)).addEdge(sg::START, name);
    CHECK(graph.compile().invoke(Update{}, {.recursion_limit = 1}).values.bar.size() == 3);
}

TEST_CASE("a subgraph has the same limit of its own") {
    Graph graph;
    graph.addNode("sub", chain(3)).addNode("after", appends("after"));
    graph.addEdge(sg::START, "sub").addEdge("sub", "after");
    CHECK(graph.compile().invoke(Update{}, {.recursion_limit = 3}).values.bar == Strings{"1", "2", "3", "after"});
    CHECK_THROWS_AS(graph.compile().invoke(Update{}, {.recursion_limit = 2}), sg::GraphRecursionError);
}

TEST_CASE("nodes see how many supersteps are left") {
    std::vector<int> left;
    Graph graph;
    graph.addNode(
        "a",
        [&left](const State&, sg::Runtime& runtime) -> Command {
            left.push_back(runtime.remainingSteps());
            if (runtime.remainingSteps() > 1) return {.go_to = {"a"}};
            return {};
        },
        leadsTo({"a", sg::END}));
    graph.addEdge(sg::START, "a");
    graph.compile().invoke(Update{}, {.recursion_limit = 4});
    CHECK(left == std::vector<int>{4, 3, 2, 1});
}

TEST_CASE("START's router sees one superstep more than the first node, and the highest limit does not overflow there") {
    for (const auto& [limit, expected] :
         {std::pair{4, 5}, std::pair{std::numeric_limits<int>::max(), std::numeric_limits<int>::max()}}) {
        int left = 0;
        Graph graph;
        graph.addNode("a", appends("a"));
        const auto routes = [&left](const State&, sg::Runtime& runtime) {
            left = runtime.remainingSteps();
            return std::string("a");
        };
        graph.addConditionalEdges(sg::START, routes, {"a"});
        graph.compile().invoke(Update{}, {.recursion_limit = limit});
        CHECK(left == expected);
    }
}

// bad input: limits below 1
TEST_CASE("a limit below 1 is refused before anything is stored") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    for (const int limit : {0, -5}) {
        CHECK_THROWS_AS(chain(1, saver).invoke(Update{}, {.thread_id = "t", .recursion_limit = limit}),
                        sg::InvalidArgumentError);
    }
    CHECK(saver->list({}).empty());
}

TEST_CASE("a subgraph that met its limit continues inside when the run is resumed") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode(
            "sub", chain(3), [](const State&) { return Update{}; },
            [](const State& inner) { return Update{sg::add(&State::bar, inner.bar)}; });
        graph.addEdge(sg::START, "sub");
        const App app = graph.compile({.checkpointer = store.open()});
        CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t", .recursion_limit = 2}), sg::GraphRecursionError);
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t", .recursion_limit = 2}).values.bar ==
              Strings{"i", "1", "2", "3"});
    });
}
