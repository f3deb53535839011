#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"

// Circles that Commands may leave, as a Command without a goto leads nowhere.
using namespace graphs;

namespace {

// Leads to `to` until bar has `length` elements.
auto until(std::size_t length, std::string name, std::string to) {
    return [length, name, to](const State& state) -> Command {
        if (state.bar.size() + 1 >= length) return {.update = bar(name)};
        return {.update = bar(name), .go_to = to};
    };
}

std::string faultsOf(const Graph& graph) {
    try {
        graph.compile();
    } catch (const sg::InvalidGraphError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("nodes in a cycle that return Commands compile, and a Command without a goto ends the run") {
    Graph graph;
    graph.addNode("ask", until(5, "ask", "answer"), {.ends = {"answer"}});
    graph.addNode("answer", until(5, "answer", "ask"), {.ends = {"ask"}});
    graph.addEdge(sg::START, "ask");
    const App app = graph.compile();
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto outcome = driver.run(app, Update{});
        CHECK(outcome.what() == "");
        CHECK(outcome.values.bar == Strings{"ask", "answer", "ask", "answer", "ask"});
    }
}

TEST_CASE("a node that leads to itself by Commands compiles, a coroutine too") {
    Graph graph;
    graph.addNode("loop", until(3, "loop", "loop"), {.ends = {"loop"}}).addEdge(sg::START, "loop");
    CHECK(graph.compile().invoke(Update{}).values.bar.size() == 3);
    Graph awaited;
    awaited.addNode("loop",
                    [](const State& state) -> sg::Task<Command> {
                        if (state.bar.size() == 2) co_return Command{};
                        co_return Command{.update = bar("x"), .go_to = "loop"};
                    },
                    {.ends = {"loop"}});
    awaited.addEdge(sg::START, "loop");
    CHECK(awaited.compile().invoke(Update{}).values.bar.size() == 2);
}

TEST_CASE("one node of a cycle that may end is enough; one whose own edge leads on is none") {
    Graph one;
    one.addNode("a", until(9, "a", "b"), {.ends = {"b"}})
        .addNode("b", appends("b"))
        .addEdge("b", "a")
        .addEdge(sg::START, "a");
    CHECK(faultsOf(one) == "");
    Graph none;
    none.addNode("a", until(9, "a", "b"), {.ends = {"b"}})
        .addNode("b", appends("b"))
        .addEdge("b", "a")
        .addEdge("a", "b")
        .addEdge(sg::START, "a");
    CHECK(faultsOf(none).find("form a cycle") != std::string::npos);
    Graph updates;
    updates.addNode("a", appends("a"), {.ends = {"a"}}).addEdge(sg::START, "a");
    CHECK(faultsOf(updates).find("leads to itself") != std::string::npos);
}
