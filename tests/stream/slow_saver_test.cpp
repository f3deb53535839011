#include <chrono>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/stream_hub.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/later_saver.hpp"
#include "tests/support/recording_saver.hpp"

// Subscribers of threads whose saver stores a checkpoint after the run has continued.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

/// Two supersteps, of which the second one ends when a subscriber has received the update of the first.
void checkFollows(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, const drivers::Driver& driver) {
    Signal received;
    bool came = false;
    Graph graph;
    graph.addNode("first", appends("first"));
    graph.addNode("second", [&](const State&) -> Update {
        came = received.await();
        return bar("second");
    });
    graph.addEdge(sg::START, "first").addEdge("first", "second");
    const App app = graph.compile({.checkpointer = saver});
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = {sg::StreamMode::updates}});
    std::thread reader([&] {
        while (const auto event = subscription.next(5min)) {
            if (event->node == "first") received.give();
            if (event->node == "second") break;
        }
    });
    const auto outcome = driver.run(app, bar("in"), {.thread_id = "t", .hub = &hub});
    reader.join();
    CHECK(outcome.what() == "");
    CHECK(came);
}

}  // namespace

TEST_CASE("a subscriber receives what a superstep did when it is stored, while the next superstep runs") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        checkFollows(std::make_shared<LaterSaver>(std::make_shared<sg::MemorySaver>(), 2ms), driver);
        const auto slow = std::make_shared<RecordingSaver>();
        slow->is_slow = true;
        slow->delay = 2ms;
        checkFollows(slow, driver);
    }
}
