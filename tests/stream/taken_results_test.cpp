#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/stream_hub.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// New input takes along what the finished tasks of a superstep that waits have written. Subscribers are told of it with
// the commit that has it.
using namespace graphs;
using namespace std::chrono_literals;
using sg::StreamMode;

namespace {

// START → pay, ask. The second asks until foo is "go".
App payingGraph(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("pay", appends("paid"));
    graph.addNode("ask", [](const State& state, sg::Runtime& runtime) -> Update {
        if (state.foo == "go") return {};
        return bar(sg::interrupt<std::string>(runtime, "which?"));
    });
    graph.addEdge(sg::START, "pay").addEdge(sg::START, "ask");
    return graph.compile({.checkpointer = saver});
}

Update says(std::string text) { return {sg::set(&State::foo, std::move(text))}; }

/// The updates that are there, without questions.
std::string updates(sg::Subscription& subscription) {
    std::string all;
    while (const auto event = subscription.next(0ms)) {
        if (event->interrupts.empty()) all += event->data.toJson();
    }
    return all;
}

const std::string paid = R"({"pay":{"bar":["paid"]}})";
const std::string asked = R"({"ask":{}})";

}  // namespace

TEST_CASE("what new input takes along is told once, to those who listen and to those who come later") {
    savers::onEach([](savers::Store& store) {
        const App app = payingGraph(store.open());
        sg::StreamHub hub(app);
        auto listens = hub.subscribe("t", {.modes = {StreamMode::updates}});
        CHECK((app.invoke(says("wait"), {.thread_id = "t", .hub = &hub}).status == sg::Status::interrupted));
        CHECK((app.invoke(says("go"), {.thread_id = "t", .hub = &hub}).status == sg::Status::done));
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"paid", "paid"});
        CHECK(updates(listens) == paid + asked + paid);
        sg::StreamHub other(app);
        auto late = other.subscribe("t", {.from = sg::StreamPosition{}, .modes = {StreamMode::updates}});
        CHECK(updates(late) == paid + asked + paid);
    });
}

TEST_CASE("results that new input drops are not told") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        for (const char* name : {"one", "two"}) {
            graph.addNode(name, [name](const State& state) -> Update {
                if (state.foo == "go") return bar(name);
                return {sg::set(&State::foo, name)};  // the two conflict
            });
            graph.addEdge(sg::START, name);
        }
        const App app = graph.compile({.checkpointer = store.open()});
        sg::StreamHub hub(app);
        CHECK_THROWS_AS(app.invoke(says("x"), {.thread_id = "t", .hub = &hub}), sg::InvalidUpdateError);
        CHECK((app.invoke(says("go"), {.thread_id = "t", .hub = &hub}).status == sg::Status::done));
        auto late = hub.subscribe("t", {.from = sg::StreamPosition{}, .modes = {StreamMode::updates}});
        CHECK(updates(late) == R"({"one":{"bar":["one"]}}{"two":{"bar":["two"]}})");
    });
}

TEST_CASE("an input at an older checkpoint takes nothing along, and nothing is told of it") {
    savers::onEach([](savers::Store& store) {
        const App app = payingGraph(store.open());
        sg::StreamHub hub(app);
        CHECK((app.invoke(says("wait"), {.thread_id = "t"}).status == sg::Status::interrupted));
        const auto waiting = app.getState({.thread_id = "t"}).config.checkpoint_id;
        CHECK((app.invoke(says("go"), {.thread_id = "t"}).status == sg::Status::done));
        auto after = hub.subscribe("t", {.modes = {StreamMode::updates}});
        const auto state = app.invoke(says("go"), {.thread_id = "t", .checkpoint_id = waiting, .hub = &hub});
        CHECK(state.values.bar == Strings{"paid"});
        CHECK(updates(after) == asked + paid);
    });
}
