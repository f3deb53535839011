#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/ndjson.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/manual_clock.hpp"

// The time of an event, and the attempt of the task that it belongs to.
using namespace graphs;
using namespace std::chrono_literals;
using sg::StreamMode;
using std::chrono::milliseconds;

namespace {

/// Fails once, and advances the clock by a millisecond in each attempt.
App failsOnce(const std::shared_ptr<ManualClock>& clock) {
    Graph inner;
    inner.addNode("y", [](const State&, sg::Runtime& runtime) -> Update {
        runtime.write("y");
        return bar("y");
    });
    inner.addEdge(sg::START, "y");
    Graph graph;
    graph.addNode("x",
                  [clock](const State&, sg::Runtime& runtime) -> Update {
                      clock->passMs(1);
                      runtime.write("x");
                      if (runtime.attempt() == 1) throw std::runtime_error("not yet");
                      return bar("x");
                  },
                  {.retry = {.max_attempts = 2, .initial_interval = 1ms, .jitter = false}});
    graph.addNode("inner", inner.compile()).addEdge(sg::START, "x").addEdge("x", "inner");
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .ids = clock});
}

}  // namespace

TEST_CASE("each event has its time, by the graph's clock, and the attempt of its task, in every driver") {
    const auto clock = ManualClock::make();
    const App app = failsOnce(clock);
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto outcome = driver.run(app, Update{}, {.thread_id = driver.name});
        REQUIRE(outcome.what() == "");
        std::chrono::system_clock::time_point last;
        std::vector<int> attempts;
        for (const sg::StreamEvent& event : outcome.events) {
            CAPTURE(sg::toJson(event));
            CHECK(event.time.time_since_epoch() >= milliseconds(1'700'000'000'000));
            CHECK(event.time >= last);
            last = event.time;
            if (event.mode == StreamMode::debug) {
                const auto ms = std::chrono::duration_cast<milliseconds>(event.time.time_since_epoch());
                CHECK(event.data.toJson().find("\"timestamp\":" + std::to_string(ms.count())) != std::string::npos);
            }
            if (event.mode == StreamMode::runs || event.mode == StreamMode::values ||
                event.mode == StreamMode::checkpoints)
                CHECK(event.attempt == 0);
            if (event.mode == StreamMode::custom && event.node == "x") attempts.push_back(event.attempt);
            if (event.mode == StreamMode::updates) CHECK(event.attempt == (event.node == "x" ? 2 : 1));
        }
        if (!attempts.empty()) CHECK(attempts == std::vector<int>{1, 2});
    }
}

TEST_CASE("what a subscriber reads in the log has the time of its checkpoint, the same for every reader") {
    const auto clock = ManualClock::make();
    const App app = failsOnce(clock);
    sg::StreamHub hub(app);
    auto live = hub.subscribe("t", {.modes = {StreamMode::updates, StreamMode::custom}, .until = sg::Until::run_end});
    app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
    clock->passMs(1000);
    auto late = hub.subscribe("t", {.from = sg::StreamPosition(), .until = sg::Until::idle});
    std::size_t durable = 0;
    while (const auto event = live.next()) {
        if (!event->durable) {
            CHECK(event->attempt > 0);
            continue;
        }
        ++durable;
        const auto same = late.next();
        REQUIRE(same);
        CHECK(same->time == event->time);
        CHECK(same->attempt == 0);
        CHECK(std::chrono::floor<milliseconds>(event->time).time_since_epoch().count() ==
              event->position.sequence / 4096);
    }
    CHECK(durable == 2);
}

TEST_CASE("results that were restored or come from a cache are of no attempt") {
    bool fails = true;
    Graph graph;
    graph.addNode("a", appends("a"));
    graph.addNode("b", [&fails](const State&) -> Update {
        if (fails) throw std::runtime_error("broken");
        return bar("b");
    });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto attempts = [&](auto input) {
        std::map<std::string, int> found;
        try {
            for (const auto& event : app.stream(input, {.thread_id = "t"}, {.modes = StreamMode::updates}))
                found[event.node] = event.attempt;
        } catch (const sg::NodeError&) {
        }
        return found;
    };
    CHECK(attempts(Update{}).at("a") == 1);
    fails = false;
    const auto resumed = attempts(sg::RESUME);
    if (resumed.contains("a")) CHECK(resumed.at("a") == 0);
    CHECK(resumed.at("b") == 1);
}

TEST_CASE("time and attempt are written as fields of a line, and read back to the millisecond") {
    sg::HubEvent event;
    event.mode = StreamMode::custom;
    event.node = "a";
    event.time = std::chrono::system_clock::time_point(milliseconds(1'700'000'000'123));
    event.attempt = 3;
    std::stringstream lines;
    sg::NdjsonWriter writer(lines);
    writer.write(static_cast<const sg::StreamEvent&>(event));
    CHECK(lines.str() ==
          "{\"ns\":[],\"data\":null,\"mode\":\"custom\",\"node\":\"a\",\"step\":0,\"time\":1700000000123,\"attempt\":3}"
          "\n");
    sg::NdjsonReader reader(lines);
    const auto read = reader.next();
    REQUIRE(read);
    CHECK(read->time == event.time);
    CHECK(read->attempt == 3);
    for (const char* bad : {R"({"mode":"custom","time":"now"})", R"({"mode":"custom","attempt":-1})"}) {
        std::istringstream text(bad);
        CHECK_THROWS_AS(sg::NdjsonReader(text).next(), sg::WrongTypeError);
    }
}

TEST_CASE("each mode of a stream has a name of its own") {
    std::set<std::string> names;
    for (unsigned i = 0; i < sg::stream_mode_count; ++i) names.insert(sg::toString(static_cast<StreamMode>(i)));
    CHECK(names.size() == sg::stream_mode_count);
    CHECK(names.count("values") == 1);
    CHECK(std::string(sg::toString(StreamMode::calls)) == "calls");
    CHECK(std::string(sg::toString(static_cast<StreamMode>(sg::stream_mode_count))) == "?");
}
