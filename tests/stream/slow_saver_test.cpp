#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
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

/// What a node waits for, for five minutes at most.
class Signal {
public:
    void set() {
        {
            const std::lock_guard lock(mutex_);
            is_set_ = true;
        }
        changed_.notify_all();
    }
    bool wait() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 5min, [this] { return is_set_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_set_ = false;
};

/// Two supersteps, of which the second one ends when a subscriber has received the update of the first.
void checkFollows(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, const drivers::Driver& driver) {
    Signal received;
    bool came = false;
    Graph graph;
    graph.addNode("first", appends("first"));
    graph.addNode("second", [&](const State&) -> Update {
        came = received.wait();
        return bar("second");
    });
    graph.addEdge(sg::START, "first").addEdge("first", "second");
    const App app = graph.compile({.checkpointer = saver});
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = {sg::StreamMode::updates}});
    std::thread reader([&] {
        while (const auto event = subscription.next(5min)) {
            if (event->node == "first") received.set();
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
