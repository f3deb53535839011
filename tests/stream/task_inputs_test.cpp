#include <doctest/doctest.h>

#include <stategraph/stream_hub.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"

// Events of tasks without the inputs of the tasks, for large states.
using namespace graphs;
using namespace std::chrono_literals;
using sg::StreamMode;

namespace {

/// START -> a -> a Send to b.
App sending(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    Graph graph;
    graph.addNode(
        "a", [](const State&) -> Command { return {.update = bar("a"), .go_to = sg::Send("b", State{.foo = "sent"})}; },
        leadsTo({"b"}));
    graph.addNode("b", appends("b"));
    graph.addEdge(sg::START, "a");
    return graph.compile({.checkpointer = std::move(saver)});
}

/// For each start of a task, the node and whether the event has an input.
template <class Event>
void note(const Event& event, Strings& starts) {
    const std::string json = event.data.toJson();
    if (contains(json, "\"result\"") || contains(json, "\"checkpoint\"")) return;
    starts.push_back(std::string(toString(event.mode)) + " " + event.node +
                     (contains(json, "\"input\"") ? " with input" : ""));
}

Strings startsOf(const App& app, sg::StreamOptions options) {
    Strings starts;
    app.stream(bar("in"), {.thread_id = "t"}, options, [&](const sg::StreamEvent& event) { note(event, starts); });
    return starts;
}

Strings startsOf(sg::Subscription& subscription) {
    Strings starts;
    while (const auto event = subscription.next(0ms)) note(*event, starts);
    return starts;
}

const Strings with{"tasks a with input", "tasks b with input"};
const Strings without{"tasks a", "tasks b"};

}  // namespace

TEST_CASE("a stream leaves tasks' inputs out if it is to, of tasks and of debug") {
    const App app = sending(std::make_shared<sg::MemorySaver>());
    CHECK(startsOf(app, {.modes = StreamMode::tasks}) == with);
    CHECK(startsOf(app, {.modes = StreamMode::tasks, .task_inputs = false}) == without);
    CHECK(startsOf(app, {.modes = StreamMode::debug, .task_inputs = false}) == Strings{"debug a", "debug b"});
    CHECK(startsOf(app, {.modes = StreamMode::debug}) == Strings{"debug a with input", "debug b with input"});
    const auto event = [&] {
        std::string first;
        app.stream(bar("in"), {.thread_id = "t"}, {.modes = StreamMode::tasks, .task_inputs = false},
                   [&](const sg::StreamEvent& each) {
                       if (first.empty()) first = each.data.toJson();
                   });
        return first;
    }();
    CHECK(contains(event, "\"name\":\"a\""));
    CHECK(contains(event, "\"interrupts\":[]"));
}

TEST_CASE("each subscriber of a thread gets tasks with their inputs or without, as it wants them, in every driver") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const App app = sending(std::make_shared<sg::MemorySaver>());
        sg::StreamHub hub(app);
        auto full = hub.subscribe("t", {.modes = StreamMode::tasks});
        auto lean = hub.subscribe("t", {.modes = StreamMode::tasks, .task_inputs = false});
        auto lean_too = hub.subscribe("t", {.modes = StreamMode::tasks, .task_inputs = false});
        const auto outcome = driver.run(app, bar("in"), {.thread_id = "t", .hub = &hub});
        REQUIRE(outcome.what() == "");
        CHECK(startsOf(full) == with);
        CHECK(startsOf(lean) == without);
        CHECK(startsOf(lean_too) == without);
    }
}

TEST_CASE("a stream and a subscriber of one run may want different things") {
    const App app = sending(std::make_shared<sg::MemorySaver>());
    sg::StreamHub hub(app);
    auto full = hub.subscribe("t", {.modes = StreamMode::tasks});
    Strings starts;
    app.stream(bar("in"), {.thread_id = "t", .hub = &hub}, {.modes = StreamMode::tasks, .task_inputs = false},
               [&](const sg::StreamEvent& event) { note(event, starts); });
    CHECK(starts == without);
    CHECK(startsOf(full) == with);
}

TEST_CASE("tasks of subgraphs lose their inputs too") {
    Graph inner;
    inner.addNode("i", appends("i")).addEdge(sg::START, "i");
    Graph graph;
    graph.addNode("sub", inner.compile()).addEdge(sg::START, "sub");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(startsOf(app, {.modes = StreamMode::tasks, .subgraphs = true, .task_inputs = false}) ==
          Strings{"tasks sub", "tasks i"});
    CHECK(startsOf(app, {.modes = StreamMode::tasks, .subgraphs = true}) ==
          Strings{"tasks sub with input", "tasks i with input"});
}
