#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/inspected.hpp"
#include "tests/support/recording_saver.hpp"
#include "tests/support/savers.hpp"

// A hub with only a saver reports on threads whose graph this process does not have.
namespace sg = stategraph;
using namespace std::chrono_literals;
using sg::StreamMode;

namespace {

using inspected::App;
using inspected::Order;
using inspected::Update;

/// Takes all events that are available without waiting.
std::vector<std::string> take(sg::Subscription& subscription) {
    std::vector<std::string> all;
    while (const auto event = subscription.next(0ms)) {
        all.push_back(std::string(toString(event->mode)) + " " + event->node + " " + std::to_string(event->step) + " " +
                      event->data.toJson() + " " + event->position.toString());
    }
    return all;
}

std::vector<std::string> history(sg::StreamHub& hub, sg::StreamModes modes) {
    auto subscription = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = modes, .until = sg::Until::idle});
    return take(subscription);
}

TEST_CASE("a hub of a saver reports what a hub of the graph reports of what is stored") {
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        const App app = inspected::graph().compile({.checkpointer = saver});
        app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "t"});
        sg::StreamHub with_graph(app);
        sg::StreamHub alone(saver);
        for (const StreamMode mode : {StreamMode::updates, StreamMode::values, StreamMode::checkpoints}) {
            CAPTURE(toString(mode));
            const auto wanted = history(with_graph, mode);
            CHECK(wanted.size() > 2);
            CHECK(history(alone, mode) == wanted);
        }
        app.invoke(sg::resume(std::string("yes")), {.thread_id = "t"});
        app.updateState({.thread_id = "t"}, Update{sg::add(&Order::notes, std::string("edited"))}, {.as_node = "plan"});
        const sg::StreamModes all = {StreamMode::updates, StreamMode::values, StreamMode::checkpoints};
        CHECK(history(alone, all) == history(with_graph, all));
    });
}

TEST_CASE("a read that fails is an error of next, and the next call continues where it was") {
    const auto saver = std::make_shared<RecordingSaver>();
    const App app = inspected::graph().compile({.checkpointer = saver});
    sg::StreamHub alone(saver);
    auto subscription = alone.subscribe("t", {.from = sg::StreamPosition(), .modes = StreamMode::updates});
    app.invoke(Update{}, {.thread_id = "t"});
    sg::StreamHub with_graph(app);
    const auto wanted = history(with_graph, StreamMode::updates);
    saver->before_list = [] { throw sg::SaverError("the disk is away"); };
    CHECK_THROWS_AS(subscription.next(5min), sg::SaverError);
    saver->before_list = nullptr;
    std::vector<std::string> got;
    while (got.size() < wanted.size()) {
        const auto event = subscription.next(5min);
        REQUIRE(event.has_value());
        got.push_back(std::string(toString(event->mode)) + " " + event->node + " " + std::to_string(event->step) + " " +
                      event->data.toJson() + " " + event->position.toString());
    }
    CHECK(got == wanted);
}

TEST_CASE("nodes have the names that users know, as the stored description says") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    inspected::Graph graph;
    graph.addNode("shown", inspected::note("x"), {.stored_as = "s"}).addEdge(sg::START, "shown");
    const App app = graph.compile({.checkpointer = saver});
    app.invoke(Update{}, {.thread_id = "t"});
    sg::StreamHub alone(saver);
    const auto told = history(alone, StreamMode::updates);
    REQUIRE(told.size() == 1);
    CHECK(told.front().starts_with("updates shown "));
}

TEST_CASE("a subscriber sees what runs store that know nothing of the hub, and receives questions once") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = inspected::graph().compile({.checkpointer = saver});
    sg::StreamHub hub(saver);
    auto subscription = hub.subscribe("t", {.modes = StreamMode::updates});
    std::thread writer([&app] { app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "t"}); });
    std::vector<std::string> nodes;
    bool is_asked = false;
    while (!is_asked) {
        const auto event = subscription.next(5min);
        REQUIRE(event.has_value());
        nodes.push_back(event->node);
        is_asked = !event->interrupts.empty();
    }
    writer.join();
    CHECK(nodes.front() == "plan");
    CHECK(nodes.back() == "ask");
    CHECK(!subscription.next(250ms).has_value());
    // The same for a coroutine that waits: the subscription itself polls the store.
    std::thread answerer([&app] { app.invoke(sg::resume(std::string("yes")), {.thread_id = "t"}); });
    const auto event = sg::syncWait(subscription.asyncNext(5min));
    answerer.join();
    REQUIRE(event.has_value());
    CHECK(event->node == "ask");
}

TEST_CASE("a hub over a saver is no run's hub, and needs a saver") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = inspected::graph().compile({.checkpointer = saver});
    sg::StreamHub hub(saver);
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t", .hub = &hub}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::StreamHub(std::shared_ptr<sg::BaseCheckpointSaver>()), sg::InvalidArgumentError);
}

}  // namespace
