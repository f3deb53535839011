#include <chrono>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/ndjson.hpp>
#include <stategraph/stream_hub.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"

// The events for the beginning and the end of a run, for subscribers of its thread, for readers of its stream, and as
// lines of JSON.
using namespace graphs;
using namespace std::chrono_literals;
using sg::StreamMode;

namespace {

const sg::StreamOptions only_runs{.modes = StreamMode::runs};

/// A graph of one node, which calls `work`.
template <class Work>
App single(Work work, std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>()) {
    Graph graph;
    graph.addNode("x", std::move(work)).addEdge(sg::START, "x");
    return graph.compile({.checkpointer = std::move(saver)});
}

std::string brief(const sg::StreamEvent& event) {
    if (event.mode != StreamMode::runs) return std::string(toString(event.mode)) + " " + event.data.toJson();
    std::string json = event.data.toJson();
    if (const std::size_t id = json.find(",\"checkpoint_id\":\""); id != std::string::npos)
        json.erase(id, json.find('"', id + 18) + 1 - id);
    return "runs " + json + (event.interrupts.empty() ? "" : " asks");
}

template <class Events>
Strings told(const Events& events) {
    Strings all;
    for (const auto& event : events) {
        if (event.mode == StreamMode::runs) all.push_back(brief(event));
    }
    return all;
}

std::vector<sg::HubEvent> take(sg::Subscription& subscription) {
    std::vector<sg::HubEvent> all;
    while (auto event = subscription.next(0ms)) all.push_back(std::move(*event));
    return all;
}

std::string ended(const std::string& status, const std::string& interrupts = "[]", const std::string& error = "null") {
    return "runs {\"error\":" + error + ",\"event\":\"end\",\"status\":\"" + status +
           "\",\"interrupts\":" + interrupts + ",\"wake_unix_ms\":null}" + (interrupts == "[]" ? "" : " asks");
}
const std::string begun = "runs {\"event\":\"begin\"}";

}  // namespace

TEST_CASE("subscribers and streams learn that a run begins and how it ends, in every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const auto check = [&](const App& app, const std::string& end, const sg::RunConfig& given = {}) {
            sg::StreamHub hub(app);
            auto subscription = hub.subscribe("t", {.modes = {StreamMode::runs, StreamMode::updates}});
            sg::RunConfig config = given;
            config.thread_id = "t";
            config.hub = &hub;
            const auto outcome = driver.run(app, bar("in"), config);
            const auto events = take(subscription);
            CHECK(told(events) == Strings{begun, end});
            REQUIRE(!events.empty());
            CHECK(brief(events.front()) == begun);
            CHECK(brief(events.back()) == end);
            const Strings own = told(outcome.events);
            if (!own.empty()) CHECK(own == Strings{begun, end});
            if (!own.empty()) CHECK(brief(outcome.events.back()) == end);
        };
        check(single(appends("a")), ended("done"));
        check(single([](const State&) -> Update { throw std::runtime_error("broken"); }),
              [] { return ended("failed", "[]", "\"node 'x' failed: broken [thread 't', step 1, node 'x']\""); }());
        check(single([](const State&, sg::Runtime& runtime) -> Update {
                  return bar(sg::interrupt<std::string>(runtime, "name?"));
              }),
              ended("interrupted", "[\"name?\"]"));
        check(single(appends("a")), ended("breakpoint"), {.interrupt_before = {"x"}});
    }
}

TEST_CASE("whichever put of a run fails, its end is reported, and as failed if the run failed, in every driver") {
    using sg::testing::FaultSaver;
    for (const drivers::Driver& driver : drivers::crossed()) {
        for (const sg::Durability durability : {sg::Durability::exit, sg::Durability::async, sg::Durability::sync}) {
            CAPTURE(driver.name);
            CAPTURE(static_cast<int>(durability));
            for (std::size_t fail_at = 1;; ++fail_at) {
                CAPTURE(fail_at);
                const auto faults = std::make_shared<FaultSaver>(
                    std::make_shared<sg::MemorySaver>(),
                    sg::testing::FaultPlan{.fail_at = fail_at, .once = true, .calls = sg::testing::SaverCalls::put});
                const App app = single(appends("a"), faults);
                sg::StreamHub hub(app);
                auto subscription = hub.subscribe("t", {.modes = StreamMode::runs});
                const auto outcome =
                    driver.run(app, bar("in"), {.thread_id = "t", .durability = durability, .hub = &hub});
                const Strings heard = told(take(subscription));
                if (!heard.empty()) {
                    REQUIRE(heard.size() == 2);
                    CHECK(heard.front() == begun);
                    CHECK((heard.back().find("\"status\":\"failed\"") != std::string::npos) == outcome.failed());
                    CHECK((heard.back().find("\"status\":\"done\"") != std::string::npos) == !outcome.failed());
                }
                if (faults->failures() == 0) break;
            }
        }
    }
}

TEST_CASE("a run that is refused before it has its thread is not reported, and one that is left ends as left") {
    const App app = single(appends("a"));
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = StreamMode::runs});
    CHECK_THROWS_AS(app.invoke(sg::RESUME, {.thread_id = "t", .checkpoint_id = sg::CheckpointId(1, 1), .hub = &hub}),
                    sg::InvalidArgumentError);
    CHECK(take(subscription).empty());
    for (const auto& event : app.stream(Update{}, {.thread_id = "t", .hub = &hub}, {.modes = StreamMode::values})) {
        CHECK((event.mode == StreamMode::values));
        break;
    }
    CHECK(told(take(subscription)) == Strings{begun, ended("left")});
}

TEST_CASE("when the end is reported the thread is free for the next run") {
    const App app = single(appends("a"));
    int ends = 0;
    app.stream(Update{}, {.thread_id = "t"}, only_runs, [&](const sg::StreamEvent& event) {
        if (!isRunEnd(event)) return;
        ++ends;
        CHECK(app.invoke(Update{}, {.thread_id = "t", .on_busy = sg::OnBusy::reject}).values.bar == Strings{"a", "a"});
    });
    CHECK(ends == 1);
    const App fails = single([](const State&) -> Update { throw std::runtime_error("broken"); });
    CHECK_THROWS_AS(fails.stream(Update{}, {.thread_id = "t"}, only_runs,
                                 [&](const sg::StreamEvent& event) {
                                     if (!isRunEnd(event)) return;
                                     ++ends;
                                     CHECK_THROWS_AS(
                                         fails.invoke(sg::RESUME, {.thread_id = "t", .on_busy = sg::OnBusy::reject}),
                                         sg::NodeError);
                                 }),
                    sg::NodeError);
    CHECK(ends == 2);
}

TEST_CASE("a subscriber that follows one run stops at its end, also if it is slow") {
    for (const auto on_full : {sg::OnFull::drop_ephemeral, sg::OnFull::coalesce}) {
        const App app = single([](const State&, sg::Runtime& runtime) -> Update {
            for (int i = 0; i < 100; ++i) runtime.write(i);
            return bar("a");
        });
        sg::StreamHub hub(app);
        auto subscription = hub.subscribe(
            "t",
            {.modes = {StreamMode::updates, StreamMode::custom, StreamMode::runs}, .capacity = 3, .on_full = on_full});
        app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
        Strings seen;
        // Without a timeout: a missing end would make this wait for ever.
        while (const auto event = subscription.next()) {
            seen.push_back(brief(*event));
            if (sg::isRunEnd(*event)) break;
        }
        CHECK(seen.front() == begun);
        CHECK(seen.back() == ended("done"));
        CHECK(std::find(seen.begin(), seen.end(), "updates {\"x\":{\"bar\":[\"a\"]}}") != seen.end());
        CHECK(subscription.dropped() > 90);
    }
}

TEST_CASE("the beginning and the end of a run are lines of JSON, and are read back") {
    const App app = single(
        [](const State&, sg::Runtime& runtime) -> Update { return bar(sg::interrupt<std::string>(runtime, "name?")); });
    std::stringstream lines;
    sg::NdjsonWriter writer(lines);
    std::vector<sg::StreamEvent> events;
    app.stream(Update{}, {.thread_id = "t"}, only_runs, [&](const sg::StreamEvent& event) {
        writer.write(event);
        events.push_back(event);
    });
    REQUIRE(events.size() == 2);
    sg::NdjsonReader reader(lines);
    for (const sg::StreamEvent& event : events) {
        const auto read = reader.next();
        REQUIRE(read);
        CHECK((read->mode == StreamMode::runs));
        CHECK(read->data == event.data);
        CHECK((read->interrupts == event.interrupts));
    }
    CHECK(!reader.next());
}

TEST_CASE("a pause among values has the questions and cannot be taken for a state") {
    const sg::StreamOptions options{.modes = StreamMode::values};
    const App app = single(
        [](const State&, sg::Runtime& runtime) -> Update { return bar(sg::interrupt<std::string>(runtime, "name?")); });
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto asked = driver.run(app, bar("in"), {.thread_id = driver.name});
        std::vector<std::string> pauses;
        for (const sg::StreamEvent& event : asked.events) {
            if (event.mode != StreamMode::values) continue;
            CHECK(event.data.toJson() != "{}");
            if (!event.interrupts.empty()) pauses.push_back(event.data.toJson());
        }
        if (!asked.events.empty()) CHECK(pauses == Strings{"{\"__interrupt__\":[\"name?\"]}"});
    }
    Strings at_breakpoint;
    for (const auto& event : app.stream(bar("in"), {.thread_id = "b", .interrupt_before = {"x"}}, options))
        at_breakpoint.push_back(event.data.toJson());
    CHECK(at_breakpoint.back() == "{\"__interrupt__\":[]}");
}
