#include <chrono>

#include <doctest/doctest.h>

#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// If the writes of finished tasks conflict while another task pauses, no answer can resolve the conflict, so the run
// fails at once.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

// START → one, two (both write foo), and a third node that pauses.
template <class Node>
App conflicting(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, Node third) {
    Graph graph;
    for (const char* name : {"one", "two"}) {
        graph.addNode(name, [name](const State&) -> Update { return {sg::set(&State::foo, name)}; })
            .addEdge(sg::START, name);
    }
    graph.addNode("third", third).addEdge(sg::START, "third");
    return graph.compile({.checkpointer = saver});
}

template <class Node>
void checkConflict(Node third) {
    savers::onEach([&](savers::Store& store) {
        const App app = conflicting(store.open(), third);
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto outcome = driver.run(app, Update{}, {.thread_id = driver.name});
            CHECK(outcome.template as<sg::InvalidUpdateError>() != nullptr);
            CHECK(outcome.what().find("'foo'") != std::string::npos);
        }
    });
}

sg::Update<State> ask(const State&, sg::Runtime& runtime) { return bar(sg::interrupt<std::string>(runtime, "?")); }

}  // namespace

TEST_CASE("a conflict in the superstep of a question fails the run at once, and the question stays open") {
    checkConflict(ask);
    const App app = conflicting(std::make_shared<sg::MemorySaver>(), ask);
    const sg::RunConfig t{.thread_id = "t"};
    CHECK_THROWS_AS(app.invoke(Update{}, t), sg::InvalidUpdateError);
    CHECK(app.getState({.thread_id = "t"}).interrupts().size() == 1);
    // The conflict occurs again.
    CHECK_THROWS_AS(app.invoke(sg::Command<State>{.resume = "yes"}, t), sg::InvalidUpdateError);
    CHECK_NOTHROW(app.updateState(app.getState({.thread_id = "t"}).config, bar("edited"), {.as_node = "third"}));
    CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"edited"});
}

TEST_CASE("a conflict in the superstep of a task that sleeps fails the run at once") {
    checkConflict([](const State&, sg::Runtime& runtime) -> Update {
        runtime.sleepUntil(std::chrono::system_clock::time_point(4'000'000'000s));
        return {};
    });
}

TEST_CASE("a conflict in the superstep of a subgraph that pauses fails the run at once") {
    Graph inner;
    inner.addNode("ask", ask).addEdge(sg::START, "ask");
    checkConflict(inner.compile());
    Graph stops;
    stops.addNode("a", [](const State&) -> Update { return {}; }).addEdge(sg::START, "a");
    checkConflict(stops.compile({.interrupt_before = {"a"}}));
}
