#include <algorithm>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/stream_hub.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Subscriptions that end by themselves, either with a run or when no further event is available.
using namespace graphs;
using sg::OnFull;
using sg::StreamMode;
using sg::Until;

namespace {

App chainOfThree(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    for (const char* name : {"a", "b", "c"}) {
        graph.addNode(name, [name](const State&, sg::Runtime& runtime) -> Update {
            runtime.write(name);
            return bar(name);
        });
    }
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c");
    return graph.compile({.checkpointer = saver});
}

App asks(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
        return bar(sg::interrupt<std::string>(runtime, "name?"));
    });
    graph.addEdge(sg::START, "a").addEdge("a", "ask");
    return graph.compile({.checkpointer = saver});
}

std::string brief(const sg::HubEvent& event) {
    if (const auto end = sg::endOf(event)) return std::string("end ") + toString(end->ending);
    if (event.mode == StreamMode::runs) return "begin";
    return std::string(toString(event.mode)) + " " + event.data.toJson();
}

/// Reads to the end; a subscription that never ends hangs here.
Strings all(sg::Subscription& subscription) {
    Strings what;
    while (const auto event = subscription.next()) what.push_back(brief(*event));
    CHECK(subscription.isClosed());
    CHECK(!subscription.wasDisconnected());
    return what;
}

const sg::StreamModes modes = {StreamMode::updates, StreamMode::custom, StreamMode::runs};
const Strings one_run{"begin",
                      R"(custom "a")",
                      R"(updates {"a":{"bar":["a"]}})",
                      R"(custom "b")",
                      R"(updates {"b":{"bar":["b"]}})",
                      R"(custom "c")",
                      R"(updates {"c":{"bar":["c"]}})",
                      "end done"};

}  // namespace

TEST_CASE("a subscription until the end of a run gives everything that the run reported, and ends, in every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const App app = chainOfThree(std::make_shared<sg::MemorySaver>());
        sg::StreamHub hub(app);
        auto subscription = hub.subscribe("t", {.modes = modes, .until = Until::run_end});
        auto silent = hub.subscribe("t", {.modes = StreamMode::updates, .until = Until::run_end});
        (void)driver.run(app, Update{}, {.thread_id = "t", .hub = &hub}).get();
        CHECK(all(subscription) == one_run);
        CHECK(all(silent).size() == 3);
    }
}

TEST_CASE(
    "a subscription until the end of a run gives nothing of the run after it, also if that ends before anybody reads") {
    savers::onEach([](savers::Store& store) {
        const App app = chainOfThree(store.open());
        sg::StreamHub hub(app);
        auto first = hub.subscribe("t", {.modes = modes, .until = Until::run_end});
        auto durable =
            hub.subscribe("t", {.from = sg::StreamPosition(), .modes = StreamMode::updates, .until = Until::run_end});
        app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
        app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
        CHECK(all(first) == one_run);
        auto rest = hub.subscribe("t", {.from = first.position(), .modes = StreamMode::updates, .until = Until::idle});
        CHECK(all(rest).size() == 3);
        CHECK(all(durable).size() == 3);
        CHECK(hub.subscribers() == 3);  // they have ended and still exist
    });
}

TEST_CASE("without a saver a subscription ends with the run too") {
    const App app = chainOfThree(nullptr);
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = modes, .until = Until::run_end});
    app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
    app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
    CHECK(all(subscription) == one_run);
}

TEST_CASE("a subscription ends with a run that asks, fails or is left, and gives the open question first") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = asks(saver);
    sg::StreamHub hub(app);
    auto asked = hub.subscribe("t", {.modes = modes, .until = Until::run_end});
    app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
    CHECK(all(asked) == Strings{"begin", R"(updates {"a":{"bar":["a"]}})", R"(updates {"__interrupt__":["name?"]})",
                                "end interrupted"});

    Graph broken;
    broken.addNode("x", [](const State&) -> Update { throw std::runtime_error("broken"); }).addEdge(sg::START, "x");
    const App fails = broken.compile({.checkpointer = saver});
    sg::StreamHub other(fails);
    auto failed = other.subscribe("f", {.modes = modes, .until = Until::run_end});
    CHECK_THROWS_AS(fails.invoke(Update{}, {.thread_id = "f", .hub = &other}), sg::NodeError);
    CHECK(all(failed) == Strings{"begin", "end failed"});

    auto left = hub.subscribe("l", {.modes = modes, .until = Until::run_end});
    for (const auto& event : app.stream(Update{}, {.thread_id = "l", .hub = &hub}, {.modes = StreamMode::updates})) {
        CHECK(event.node == "a");
        break;
    }
    const Strings seen = all(left);
    CHECK(std::find(seen.begin(), seen.end(), "end left") != seen.end());
}

TEST_CASE("a subscription that is slow ends with the run, under every policy, and its end is the last event") {
    for (const OnFull policy : {OnFull::drop_ephemeral, OnFull::coalesce}) {
        INFO(toString(policy));
        Graph graph;
        graph.addNode("x", [](const State&, sg::Runtime& runtime) -> Update {
            for (int i = 0; i < 100; ++i) runtime.write(i);
            return bar("a");
        });
        graph.addEdge(sg::START, "x");
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        sg::StreamHub hub(app);
        auto slow = hub.subscribe("t", {.modes = modes, .capacity = 2, .on_full = policy, .until = Until::run_end});
        app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
        CHECK(slow.waiting() <= 2);
        const Strings seen = all(slow);
        REQUIRE(!seen.empty());
        CHECK(seen.back() == "end done");
        CHECK(std::find(seen.begin(), seen.end(), R"(updates {"x":{"bar":["a"]}})") != seen.end());
    }
    const App app = chainOfThree(std::make_shared<sg::MemorySaver>());
    sg::StreamHub hub(app);
    auto blocks =
        hub.subscribe("t", {.modes = modes, .capacity = 1, .on_full = OnFull::block, .until = Until::run_end});
    std::jthread run([&] { app.invoke(Update{}, {.thread_id = "t", .hub = &hub}); });
    CHECK(all(blocks) == one_run);
    run.join();
    app.invoke(Update{}, {.thread_id = "t", .hub = &hub});  // does not wait, because that subscription has ended
}

TEST_CASE("a reader that catches up gets what the log has, and ends where no run is under way") {
    savers::onEach([](savers::Store& store) {
        const App app = asks(store.open());
        sg::StreamHub hub(app);
        const auto late = [&] {
            return hub.subscribe("t", {.from = sg::StreamPosition(), .modes = modes, .until = Until::idle});
        };
        auto nothing = late();
        CHECK(all(nothing).empty());
        app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
        auto paused = late();
        CHECK(all(paused) == Strings{R"(updates {"a":{"bar":["a"]}})", R"(updates {"__interrupt__":["name?"]})"});
        app.invoke(Command{.resume = "Ada"}, {.thread_id = "t", .hub = &hub});
        auto done = late();
        CHECK(all(done) == Strings{R"(updates {"a":{"bar":["a"]}})", R"(updates {"ask":{"bar":["Ada"]}})"});
    });
}

TEST_CASE("a reader that catches up while a run is under way follows it to its end") {
    const App app = chainOfThree(std::make_shared<sg::MemorySaver>());
    sg::StreamHub hub(app);
    auto run = app.stream(Update{}, {.thread_id = "t", .hub = &hub}, {.modes = StreamMode::updates});
    auto at = run.begin();
    CHECK(at->node == "a");
    auto late = hub.subscribe(
        "t", {.from = sg::StreamPosition(), .modes = {StreamMode::updates, StreamMode::runs}, .until = Until::idle});
    while (const auto event = late.next({})) CHECK(event->durable);
    CHECK(!late.isClosed());
    std::jthread reader([&] {
        const Strings seen = all(late);
        REQUIRE(!seen.empty());
        CHECK(seen.back() == "end done");
    });
    for (; at != run.end(); ++at) {
    }
}

TEST_CASE("the end of a run says when a sleeping run wants to be resumed, as text and typed") {
    Graph graph;
    graph.addNode("x", [](const State&, sg::Runtime& runtime) -> Update {
        runtime.sleepUntil(std::chrono::system_clock::time_point(std::chrono::milliseconds(4'000'000'000'000)));
        return bar("a");
    });
    graph.addEdge(sg::START, "x");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        sg::StreamHub hub(app);
        auto subscription = hub.subscribe(driver.name, {.modes = StreamMode::runs, .until = Until::run_end});
        (void)driver.run(app, Update{}, {.thread_id = driver.name, .hub = &hub}).get();
        CHECK(!sg::endOf(*subscription.next()));
        const auto event = subscription.next();
        REQUIRE(event);
        CHECK(event->data.toJson().find(R"("wake_unix_ms":4000000000000)") != std::string::npos);
        const auto end = sg::endOf(*event);
        REQUIRE(end);
        CHECK((end->ending == sg::Status::sleeping));
        REQUIRE(end->wake_time);
        CHECK(end->wake_time->time_since_epoch() == std::chrono::milliseconds(4'000'000'000'000));
        CHECK(end->checkpoint_id == app.getState({.thread_id = driver.name}).config.checkpoint_id);
    }
}
