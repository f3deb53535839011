#include <atomic>
#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>
#include <stategraph/stream_hub.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/enough_time.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Slow subscribers: the effect of each policy, and that the memory is limited.
using namespace graphs;
using namespace std::chrono_literals;
using sg::OnFull;
using sg::StreamMode;

namespace {

/// Loops `rounds` times, and emits a custom event of 100 bytes each time.
App loop(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, int rounds) {
    Graph graph;
    graph.addNode("a", [](const State&, sg::Runtime& runtime) -> Update {
        runtime.write(std::string(100, 'x'));
        return {sg::add(&State::n, 1)};
    });
    graph.addEdge(sg::START, "a").addConditionalEdges("a", [rounds](const State& state) {
        return state.n < rounds ? "a" : sg::END;
    });
    return graph.compile({.checkpointer = saver});
}

std::size_t count(sg::Subscription& subscription, bool durable) {
    std::size_t found = 0;
    while (const auto event = subscription.next(0ms)) found += event->durable == durable;
    return found;
}

sg::RunConfig config(sg::StreamHub& hub) { return {.thread_id = "t", .recursion_limit = 1000, .hub = &hub}; }

}  // namespace

// The run ends while nobody reads, so a subscriber costs it only the pushes.
TEST_CASE(
    "a subscriber that reads nothing neither stops the run nor fills memory, and misses no durable event afterwards") {
    savers::onEach([](savers::Store& store) {
        const App app = loop(store.open(), 200);
        sg::StreamHub hub(app);
        for (const OnFull policy : {OnFull::drop_ephemeral, OnFull::coalesce}) {
            INFO(toString(policy));
            auto slow = hub.subscribe(
                "t", {.modes = {StreamMode::updates, StreamMode::custom}, .capacity = 10, .on_full = policy});
            app.invoke(
                {sg::set(&State::foo, std::string("again")), sg::add(&State::n, policy == OnFull::coalesce ? -200 : 0)},
                config(hub));
            CHECK(slow.waiting() == 10);
            CHECK(slow.dropped() == 190);
            CHECK(count(slow, true) == 200);
            CHECK(!slow.isClosed());
        }
    });
}

// User demand, test 17: the run's speed is unchanged and its memory limited; a subscriber that reconnects at sequence n
// receives exactly once what follows.
TEST_CASE("a run with slow subscribers does the same work as one without, and each reconnects from where it was") {
    const auto calls = [](bool subscribed) {
        const auto saver = std::make_shared<stategraph::testing::FaultSaver>(std::make_shared<sg::MemorySaver>());
        const App app = loop(saver, 100);
        sg::StreamHub hub(app);
        std::vector<sg::Subscription> slow;
        for (const OnFull policy : {OnFull::drop_ephemeral, OnFull::coalesce, OnFull::disconnect}) {
            if (subscribed)
                slow.push_back(hub.subscribe(
                    "t", {.modes = {StreamMode::updates, StreamMode::custom}, .capacity = 4, .on_full = policy}));
        }
        const std::size_t before = saver->calls();
        app.invoke(bar("i"), config(hub));
        const std::size_t made = saver->calls() - before;
        for (auto& subscription : slow) {
            CHECK(subscription.waiting() <= 4);
            sg::StreamPosition from;
            std::size_t durable = 0;
            for (bool more = true; more;) {  // reconnects after every third event
                auto again = hub.subscribe("t", {.from = from});
                for (int left = 3; left > 0 && more; --left) {
                    const auto event = again.next(0ms);
                    more = event.has_value();
                    if (!more) break;
                    CHECK((event->position > from));
                    from = event->position;
                    ++durable;
                }
            }
            CHECK(durable == 100);
        }
        return made;
    };
    CHECK(calls(true) == calls(false));
}

TEST_CASE("what waits is limited in bytes as well, and one event that is larger waits alone") {
    const App app = loop(std::make_shared<sg::MemorySaver>(), 50);
    sg::StreamHub hub(app);
    auto slow = hub.subscribe("t", {.modes = StreamMode::custom, .capacity_bytes = 2000});
    auto tiny = hub.subscribe("t", {.modes = StreamMode::custom, .capacity_bytes = 1});
    app.invoke(bar("i"), config(hub));
    CHECK(slow.waiting() >= 2);
    CHECK(slow.waiting() <= 20);
    CHECK(slow.waiting() + slow.dropped() == 50);
    CHECK(tiny.waiting() == 1);
    CHECK(tiny.dropped() == 49);
}

TEST_CASE("drop_ephemeral keeps the first events that waited, coalesce the last") {
    Graph graph;
    graph.addNode("a", [](const State&, sg::Runtime& runtime) -> Update {
        for (int i = 0; i < 10; ++i) runtime.write(i);
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto first = hub.subscribe("t", {.modes = StreamMode::custom, .capacity = 3, .on_full = OnFull::drop_ephemeral});
    auto last = hub.subscribe("t", {.modes = StreamMode::custom, .capacity = 3, .on_full = OnFull::coalesce});
    app.invoke(bar("i"), config(hub));
    const auto numbers = [](sg::Subscription& subscription) {
        std::vector<int> all;
        while (const auto event = subscription.next(0ms)) all.push_back(event->data.as<int>());
        return all;
    };
    CHECK((numbers(first) == std::vector<int>{0, 1, 2}));
    CHECK((numbers(last) == std::vector<int>{7, 8, 9}));
    CHECK(last.dropped() == 7);
}

TEST_CASE("coalesce reports of values and checkpoints only the newest, and all updates") {
    savers::onEach([](savers::Store& store) {
        const App app = loop(store.open(), 30);
        sg::StreamHub hub(app);
        auto slow = hub.subscribe("t", {.modes = {StreamMode::values, StreamMode::updates, StreamMode::checkpoints},
                                        .on_full = OnFull::coalesce});
        app.invoke(bar("i"), config(hub));
        std::size_t updates = 0;
        Strings states;
        while (const auto event = slow.next(0ms)) {
            if (event->mode == StreamMode::updates) ++updates;
            if (event->mode == StreamMode::values) states.push_back(event->data.toJson());
        }
        CHECK(updates == 30);
        CHECK(states == Strings{R"({"n":30,"bar":["i"]})"});
    });
}

TEST_CASE("a disconnected subscriber learns of it and continues from its position") {
    savers::onEach([](savers::Store& store) {
        const App app = loop(store.open(), 50);
        sg::StreamHub hub(app);
        auto slow = hub.subscribe("t", {.from = sg::StreamPosition(), .capacity = 5, .on_full = OnFull::disconnect});
        auto by_events =
            hub.subscribe("t", {.modes = StreamMode::custom, .capacity = 5, .on_full = OnFull::disconnect});
        app.invoke(bar("i"), config(hub));
        CHECK(slow.wasDisconnected());
        CHECK(by_events.wasDisconnected());
        CHECK(!slow.next());
        CHECK(slow.waiting() == 0);
        auto again = hub.subscribe("t", {.from = slow.position(), .capacity = 5, .on_full = OnFull::disconnect});
        CHECK(count(again, true) == 50);
        CHECK(!again.isClosed());
    });
}

TEST_CASE("with block, the run is never further ahead than allowed, and continues when the subscriber leaves") {
    savers::onEach([](savers::Store& store) {
        const App app = loop(store.open(), 60);
        sg::StreamHub hub(app);
        auto slow = hub.subscribe(
            "t", {.modes = {StreamMode::updates, StreamMode::custom}, .capacity = 3, .on_full = OnFull::block});
        std::atomic<bool> over = false;
        std::thread run([&] {
            app.invoke(bar("i"), config(hub));
            over = true;
        });
        std::int64_t last = 0;
        for (int i = 0; i < 60; ++i) {  // the custom event and the update of 30 tasks
            const auto event = slow.next(5min);
            REQUIRE(event);
            CHECK(event->step >= last);
            last = event->step;
            CHECK(slow.waiting() <= 3);
            CHECK(app.getState({.thread_id = "t"}).step <= last + 6);
        }
        CHECK(!over);  // it waits for space in the buffer
        slow.close();
        run.join();
        CHECK(slow.dropped() == 0);
        CHECK(app.getState({.thread_id = "t"}).values.n == 60);
    });
}

TEST_CASE("a blocked run continues when the subscription is destroyed") {
    const App app = loop(std::make_shared<sg::MemorySaver>(), 60);
    sg::StreamHub hub(app);
    std::thread run;
    {
        auto slow = hub.subscribe("t", {.modes = StreamMode::custom, .capacity = 1, .on_full = OnFull::block});
        run = std::thread([&] { app.invoke(bar("i"), config(hub)); });
        REQUIRE(slow.next(5min));
    }
    run.join();
    CHECK(hub.subscribers() == 0);
}

TEST_CASE(
    "a stopped run waits for no subscriber: what finds no room is dropped and counted, and all that is durable comes") {
    savers::onEach([](savers::Store& store) {
        const App app = loop(store.open(), 60);
        sg::StreamHub hub(app);
        auto by_events = hub.subscribe("t", {.modes = StreamMode::custom, .capacity = 3, .on_full = OnFull::block});
        auto both = hub.subscribe(
            "t", {.modes = {StreamMode::updates, StreamMode::custom}, .capacity = 100, .on_full = OnFull::block});
        const auto control = std::make_shared<sg::RunControl>();
        sg::RunConfig with = config(hub);
        with.control = control;
        std::jthread stopper([&] {
            while (by_events.waiting() < 2) std::this_thread::yield();
            control->requestStop();
        });
        const auto result = app.invoke(bar("i"), with);
        CHECK((result.status == sg::Status::cancelled));
        CHECK(result.values.n <= 3);
        CHECK(by_events.waiting() >= 2);
        CHECK_FALSE(by_events.isClosed());
        CHECK(count(both, true) == static_cast<std::size_t>(result.values.n));
        // The next run finds its subscribers unchanged.
        std::jthread reader([&] {
            while (by_events.next(5min)) {
            }
        });
        both.close();
        CHECK(app.invoke(sg::RESUME, config(hub)).values.n == 60);
        by_events.close();
    });
}

TEST_CASE("a run that is out of time waits for no subscriber that it is too far ahead of") {
    savers::onEach([](savers::Store& store) {
        const App app = loop(store.open(), 60);
        sg::StreamHub hub(app);
        auto slow = hub.subscribe("t", {.capacity = 2, .on_full = OnFull::block});
        auto slower = hub.subscribe("t", {.modes = StreamMode::custom, .capacity = 30, .on_full = OnFull::block});
        sg::RunConfig with = config(hub);
        with.timeout = 50ms;
        const auto result = app.invoke(bar("i"), with);
        CHECK((result.status == sg::Status::timed_out));
        CHECK(result.values.n <= 3);
        CHECK(count(slow, true) == static_cast<std::size_t>(result.values.n));
        CHECK(slow.dropped() == 0);
        // A run also ends if its time is nearly over when it begins and the buffers are full.
        with.timeout = 1ms;
        for (int i = 0; i < 10; ++i) CHECK((app.invoke(sg::RESUME, with).status == sg::Status::timed_out));
        slow.close();
        slower.close();
        CHECK(app.invoke(sg::RESUME, config(hub)).values.n == 60);
    });
}

TEST_CASE("tasks and subgraphs that wait for a subscriber at the same time are all released when the run is stopped") {
    const auto writes = [](const State&, sg::Runtime& runtime) -> Update {
        for (int i = 0; i < 1000; ++i) runtime.write(i);  // from the first event without space on, write() throws
        return bar("all");
    };
    Graph inner;
    inner.addNode("x", writes).addEdge(sg::START, "x");
    Graph graph;
    graph.addNode("a", writes).addNode("b", writes).addNode("sub", inner.compile());
    for (const char* name : {"a", "b", "sub"}) graph.addEdge(sg::START, name);
    for (const bool stored : {true, false}) {
        CHECK(withEnoughTime(1ms, [&](std::chrono::milliseconds time) {
            const auto saver = stored ? std::make_shared<sg::MemorySaver>() : nullptr;
            const App app = graph.compile({.checkpointer = saver});
            sg::StreamHub hub(app);
            auto slow = hub.subscribe("t", {.modes = {StreamMode::custom, StreamMode::tasks, StreamMode::values},
                                            .subgraphs = true,
                                            .capacity = 20,
                                            .on_full = OnFull::block});
            const auto control = std::make_shared<sg::RunControl>();
            sg::RunConfig with = config(hub);
            with.control = control;
            std::jthread stopper([&] {
                while (slow.waiting() < 20) std::this_thread::yield();
                std::this_thread::sleep_for(time);  // sleeps: until somebody waits for space, if it is long enough
                control->requestStop();
            });
            const auto result = app.invoke(bar("i"), with);
            CHECK((result.status == sg::Status::cancelled));
            CHECK(result.values.bar == Strings{"i"});
            CHECK(slow.waiting() == 20);
            const bool was_dropped = slow.dropped() >= 1;  // not if nobody waited yet
            CHECK(count(slow, false) == 20);
            return was_dropped;
        }));
    }
}

TEST_CASE("close wakes the reader that waits for the next event") {
    const App app = loop(std::make_shared<sg::MemorySaver>(), 1);
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t");
    std::thread closes([&] { subscription.close(); });
    CHECK(!subscription.next());
    closes.join();
    CHECK(!subscription.wasDisconnected());
    CHECK(!subscription.next(0ms));
}

TEST_CASE("many subscribers come and leave on many threads while runs continue") {
    const App app = loop(std::make_shared<sg::MemorySaver>(), 40);
    sg::StreamHub hub(app);
    std::atomic<bool> over = false;
    std::vector<std::thread> readers;
    std::atomic<std::size_t> got = 0;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&, i] {
            const std::string thread_id = "t" + std::to_string(i % 2);
            while (!over) {
                auto subscription = hub.subscribe(
                    thread_id, {.from = sg::StreamPosition(), .modes = {StreamMode::updates, StreamMode::custom}});
                for (int left = 20; left > 0; --left) got += subscription.next(1ms).has_value();
            }
        });
    }
    std::vector<std::thread> runs;
    for (const char* thread_id : {"t0", "t1"}) {
        runs.emplace_back(
            [&, thread_id] { app.invoke(bar("i"), {.thread_id = thread_id, .recursion_limit = 100, .hub = &hub}); });
    }
    for (auto& run : runs) run.join();
    over = true;
    for (auto& reader : readers) reader.join();
    CHECK(hub.subscribers() == 0);
    auto all = hub.subscribe("t1", {.from = sg::StreamPosition()});
    CHECK(count(all, true) == 40);
}
