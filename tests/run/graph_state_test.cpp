#include <doctest/doctest.h>

#include <chrono>

#include <stategraph/control.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// A node that receives a Send's payload reads the state of its graph.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

Graph fanOut(const sg::NodeOptions& options) {
    Graph graph;
    graph.addNode(
        "fork",
        [](const State&) -> Command {
            return {.update = bar("fork"), .go_to = {sg::Send("work", 1), sg::Send("work", 2), sg::Send("work", 3)}};
        },
        {.ends = {"work"}});
    graph.addNode(
        "work",
        [](const int& n, sg::Runtime& rt) -> Update {
            const Strings& before = rt.state<State>().bar;
            return {sg::add(&State::bar, std::to_string(n) + " of " + std::to_string(before.size()))};
        },
        options);
    graph.addEdge(sg::START, "fork");
    return graph;
}

}  // namespace

TEST_CASE("a task of a Send reads the state as it was when its superstep began, on every driver, abandoned or not") {
    for (const bool limited : {false, true}) {
        CAPTURE(limited);
        sg::NodeOptions options;
        if (limited) options.timeout = 10min;  // with a timeout the node is called on a separate thread
        savers::onEach([&](savers::Store& store) {
            const App app = fanOut(options).compile({.checkpointer = store.open()});
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(driver.name);
                const auto done = driver.run(app, Update{}, {.thread_id = driver.name});
                REQUIRE(done.what() == "");
                CHECK(done.values.bar == Strings{"fork", "1 of 1", "2 of 1", "3 of 1"});
            }
        });
    }
}

TEST_CASE("asking for a state of another type is an error that says so") {
    Graph graph;
    graph.addNode("n", [](const State&, sg::Runtime& rt) -> Update {
        (void)rt.state<int>();
        return {};
    });
    graph.addEdge(sg::START, "n");
    CHECK_THROWS_WITH(graph.compile().invoke(Update{}), doctest::Contains("another type than the one it asks for"));
}
