#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/stream_hub.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/graphs.hpp"

// A hub whose saver or runs fail.
using namespace graphs;
using namespace std::chrono_literals;
using sg::StreamMode;
namespace kit = stategraph::testing;

namespace {

const sg::StreamModes modes = {StreamMode::values, StreamMode::updates, StreamMode::checkpoints};

App asking(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b")).addNode("c", appends("c"));
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(runtime, "name?"))};
    });
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("a", "c").addEdge({"b", "c"}, "ask");
    return graph.compile({.checkpointer = saver});
}

std::string brief(const sg::HubEvent& event) { return event.position.toString() + " " + toJson(event); }

Strings all(sg::Subscription& subscription) {
    Strings texts;
    while (const auto event = subscription.next(0ms)) texts.push_back(brief(*event));
    return texts;
}

}  // namespace

TEST_CASE("whichever read of the log fails, the subscriber continues and gets each event once") {
    const auto store = std::make_shared<sg::MemorySaver>();
    asking(store).invoke(bar("i"), {.thread_id = "t"});
    const App plain = asking(store);
    sg::StreamHub plain_hub(plain);
    auto expected_from = plain_hub.subscribe("t", {.from = sg::StreamPosition(), .modes = modes});
    const Strings expected = all(expected_from);
    REQUIRE(expected.size() > 8);

    std::size_t rounds = 0;
    for (std::size_t fail_at = 1;; ++fail_at) {
        const auto saver = std::make_shared<kit::FaultSaver>(store, kit::FaultPlan{.fail_at = fail_at});
        const App app = asking(saver);
        sg::StreamHub hub(app);
        Strings got;
        auto subscription = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = modes});
        std::size_t errors = 0;
        for (;;) {
            try {
                const auto event = subscription.next(0ms);
                if (!event) break;
                got.push_back(brief(*event));
            } catch (const sg::SaverError&) {
                REQUIRE(++errors < 3);
            }
        }
        CHECK(got == expected);
        if (saver->failures() == 0) break;
        CHECK(errors == 1);
        ++rounds;
    }
    CHECK(rounds >= 3);
}

TEST_CASE("whichever put fails, subscribers receive what was stored and nothing else") {
    for (const bool slow : {false, true}) {
        for (std::size_t fail_at = 1;; ++fail_at) {
            const auto store = std::make_shared<sg::MemorySaver>();
            const auto saver = std::make_shared<kit::FaultSaver>(
                store, kit::FaultPlan{.fail_at = fail_at, .calls = kit::SaverCalls::put}, slow);
            const App app = asking(saver);
            sg::StreamHub hub(app);
            auto live = hub.subscribe("t", {.modes = modes});
            Strings got;
            try {
                app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
            } catch (const sg::SaverError&) {
            }
            const bool failed = saver->failures() > 0;
            saver->disarm();
            for (const auto& text : all(live)) got.push_back(text);
            auto again = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = modes});
            CHECK(got == all(again));
            if (!failed) break;
        }
    }
}

TEST_CASE("a failed superstep reports nothing, and the run after it continues where the log is") {
    bool fails = true;
    Graph graph;
    graph.addNode("good", appends("good")).addEdge(sg::START, "good").addEdge(sg::START, "bad");
    graph.addNode("bad", [&fails](const State&) -> Update {
        if (fails) throw std::runtime_error("broken");
        return bar("bad");
    });
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = {StreamMode::updates, StreamMode::tasks}});
    CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t", .hub = &hub}), sg::NodeError);
    std::size_t ends_with_error = 0;
    while (const auto event = subscription.next(0ms)) {
        CHECK((event->mode == StreamMode::tasks));
        ends_with_error += contains(event->data.toJson(), "\"error\":\"broken\"");
    }
    CHECK(ends_with_error == 1);
    fails = false;
    app.invoke(sg::RESUME, {.thread_id = "t", .hub = &hub});
    Strings updates;
    while (const auto event = subscription.next(0ms)) {
        if (event->mode == StreamMode::updates) updates.push_back(event->node);
    }
    CHECK(updates == Strings{"bad", "good"});
}

TEST_CASE("a thread that is deleted ends no subscription: what is written afterwards is reported") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = asking(saver);
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = StreamMode::updates});
    app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
    const std::size_t first = all(subscription).size();
    saver->deleteThread("t");
    app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
    CHECK(all(subscription).size() == first);
}

TEST_CASE("a superstep of many tasks is reported whole, with or without a stop in its middle") {
    Graph graph;
    const auto each = [](const State&) {
        std::vector<sg::Send> sends;
        for (int i = 0; i < 2000; ++i) sends.push_back(sg::Send("work", State{.foo = std::to_string(i)}));
        return sends;
    };
    graph.addNode("work", [](const State& state) -> Update { return {sg::add(&State::bar, state.foo)}; });
    graph.addConditionalEdges(sg::START, each, {"work"});
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke(bar("i"), {.thread_id = "t"});
    sg::StreamHub hub(app);
    sg::StreamPosition from;
    std::size_t count = 0;
    std::string last;
    for (int round = 0; round < 4; ++round) {
        auto subscription = hub.subscribe("t", {.from = from, .modes = StreamMode::updates});
        for (int left = 700; left > 0; --left) {
            const auto event = subscription.next(0ms);
            if (!event) break;
            CHECK(event->data.toJson() == R"({"work":{"bar":[")" + std::to_string(count) + R"("]}})");
            ++count;
            from = event->position;
        }
    }
    CHECK(count == 2000);
}
