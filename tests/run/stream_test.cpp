#include <algorithm>
#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Which events a run emits and in which order, as a range and to a callback.
using namespace graphs;
using sg::StreamMode;

namespace {

App chain(Log& log, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("a", appends(log, "a")).addNode("b", appends(log, "b")).addEdge(sg::START, "a").addEdge("a", "b");
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

// "values ["i"]", "updates a", "start a", "end a", "checkpoint 0 ["a"]"
std::string brief(const sg::StreamEvent& event) {
    const std::string json = event.data.toJson();
    switch (event.mode) {
        case StreamMode::values:
            return "values " + json.substr(json.find("\"bar\""));
        case StreamMode::updates:
            return "updates " + json;
        case StreamMode::tasks:
            return (contains(json, "\"result\"") ? "end " : "start ") + event.node;
        case StreamMode::checkpoints: {
            const auto next = json.find("\"next\":");
            return "checkpoint " + std::to_string(event.step) + " " +
                   json.substr(next + 7, json.find(']', next) - next - 6);
        }
        case StreamMode::debug:
        case StreamMode::custom:
        case StreamMode::messages:
        case StreamMode::runs:
        case StreamMode::calls:
            break;
    }
    return std::string(toString(event.mode)) + " " + json;
}

template <class Range>
Strings told(Range&& range) {
    Strings all;
    for (const auto& event : range) all.push_back(brief(event));
    return all;
}

const sg::StreamModes main_modes = {StreamMode::values, StreamMode::updates, StreamMode::tasks,
                                    StreamMode::checkpoints};

}  // namespace

// The reference's order, 12.4
TEST_CASE("the order of values, updates, tasks and checkpoints in a chain of two nodes") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const App app = chain(log, store.open());
        CHECK(told(app.stream(bar("i"), {.thread_id = "t"}, {.modes = main_modes})) ==
              Strings{"checkpoint -1 [\"__start__\"]", "values \"bar\":[\"i\"]}", "checkpoint 0 [\"a\"]", "start a",
                      "updates {\"a\":{\"bar\":[\"a\"]}}", "end a", "values \"bar\":[\"i\",\"a\"]}",
                      "checkpoint 1 [\"b\"]", "start b", "updates {\"b\":{\"bar\":[\"b\"]}}", "end b",
                      "values \"bar\":[\"i\",\"a\",\"b\"]}", "checkpoint 2 []"});
    });
}

TEST_CASE("each mode alone reports its own events") {
    Log log;
    const App app = chain(log, std::make_shared<sg::MemorySaver>());
    const auto counts = [&](sg::StreamModes modes) {
        return told(app.stream(bar("i"), {.thread_id = "t" + std::to_string(log.take().size())}, {.modes = modes}))
            .size();
    };
    CHECK(counts(StreamMode::values) == 3);
    CHECK(counts(StreamMode::updates) == 2);
    CHECK(counts(StreamMode::tasks) == 4);
    CHECK(counts(StreamMode::checkpoints) == 4);
    CHECK(counts(StreamMode::debug) == 8);
    CHECK(counts(StreamMode::custom) == 0);
    CHECK(counts({StreamMode::tasks, StreamMode::debug}) == 12);
}

TEST_CASE("the callback receives the same as the range, and both give the outcome") {
    const auto full = [](const sg::StreamEvent& event) { return toJson(event); };
    for (const bool fails : {false, true}) {
        Strings by_range;
        Strings by_callback;
        const auto app = [fails] {
            Graph graph;
            graph.addNode("a", appends("a")).addEdge(sg::START, "a").addEdge("a", "b");
            graph.addNode("b", [fails](const State&, sg::Runtime& runtime) -> Update {
                runtime.write("from b");
                if (fails) throw std::runtime_error("broken");
                return bar("b");
            });
            return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .ids = FixedIds::make()});
        };
        const sg::StreamOptions options{
            .modes = {StreamMode::values, StreamMode::updates, StreamMode::debug, StreamMode::custom}};
        std::string range_error;
        std::string callback_error;
        try {
            auto range = app().stream(bar("i"), {.thread_id = "t"}, options);
            for (const auto& event : range) by_range.push_back(full(event));
            CHECK((range.outcome().status == sg::Status::done));
        } catch (const sg::NodeError& error) {
            range_error = error.what();
        }
        try {
            const auto result = app().stream(bar("i"), {.thread_id = "t"}, options,
                                             [&](const sg::StreamEvent& event) { by_callback.push_back(full(event)); });
            CHECK(result.values.bar == Strings{"i", "a", "b"});
        } catch (const sg::NodeError& error) {
            callback_error = error.what();
        }
        CHECK(by_range == by_callback);
        CHECK(range_error == callback_error);
        CHECK(range_error.empty() != fails);
    }
}

TEST_CASE("custom events are seen while their node still runs") {
    Signal seen;
    Graph graph;
    graph.addNode("a", [&seen](const State&, sg::Runtime& runtime) -> Update {
        runtime.write(1);
        if (!seen.await()) throw std::runtime_error("nobody saw the event");
        runtime.write(2);
        return {};
    });
    graph.addEdge(sg::START, "a");
    Strings all;
    for (const auto& event : graph.compile().stream(Update{}, {}, {.modes = StreamMode::custom})) {
        CHECK(event.node == "a");
        all.push_back(event.data.toJson());
        seen.give();
    }
    CHECK(all == Strings{"1", "2"});
}

TEST_CASE("more custom events than fit wait for the reader") {
    Graph graph;
    graph.addNode("a", [](const State&, sg::Runtime& runtime) -> Update {
        for (int i = 0; i < 5000; ++i) runtime.write(i);
        return {};
    });
    graph.addEdge(sg::START, "a");
    int expected = 0;
    for (const auto& event : graph.compile().stream(Update{}, {}, {.modes = StreamMode::custom})) {
        REQUIRE(event.data.as<int>() == expected++);
    }
    CHECK(expected == 5000);
}

TEST_CASE("events of subgraphs come with their namespace, if they are asked for") {
    Graph inner;
    inner.addNode("x", [](const State&, sg::Runtime& runtime) -> Update {
        runtime.write("hello");
        return bar("x");
    });
    inner.addEdge(sg::START, "x");
    Graph middle;
    middle.addNode("in", inner.compile()).addEdge(sg::START, "in");
    Graph graph;
    graph.addNode("out", middle.compile()).addEdge(sg::START, "out");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    Strings all;
    for (const bool subgraphs : {true, false}) {
        const sg::StreamOptions options{.modes = {StreamMode::updates, StreamMode::custom}, .subgraphs = subgraphs};
        for (const auto& event : app.stream(Update{}, {.thread_id = subgraphs ? "s" : "r"}, options)) {
            std::string path;
            for (const auto& segment : event.ns) path += segment.substr(0, segment.find(':')) + "|";
            all.push_back(path + toString(event.mode) + " " + event.node);
        }
    }
    CHECK(all == Strings{"out|in|custom x", "out|in|updates x", "out|updates in", "updates out", "updates out"});
}

TEST_CASE(
    "a reader that leaves the range early stops the run after the superstep, and the thread continues from there") {
    for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
        for (const bool live : {false, true}) {
            for (const bool routed : {false, true}) {
                CAPTURE(live);
                CAPTURE(routed);
                Log log;
                Graph graph;
                graph.addNode("a", [&log](const State&, sg::Runtime& runtime) -> Update {
                    log.add("a");
                    runtime.write("a");
                    return bar("a");
                });
                graph.addNode("b", appends(log, "b")).addEdge(sg::START, "a");
                if (routed) {
                    graph.addConditionalEdges("a", [](const State&) { return "b"; });
                } else {
                    graph.addEdge("a", "b");
                }
                const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
                const sg::RunConfig config{.thread_id = "t", .durability = durability};
                for (const auto& event :
                     app.stream(bar("i"), config, {.modes = live ? StreamMode::custom : StreamMode::updates})) {
                    CHECK(event.node == "a");
                    break;
                }
                CHECK(log.take() == Strings{"a"});
                const auto state = app.getState({.thread_id = "t"});
                CHECK(state.next == Strings{"b"});
                CHECK(state.step == 1);
                CHECK(app.invoke(sg::RESUME, config).values.bar == Strings{"i", "a", "b"});
                CHECK(log.take() == Strings{"b"});
            }
        }
    }
}

TEST_CASE("a run whose range is never walked can be gone on with") {
    Log log;
    const App app = chain(log, std::make_shared<sg::MemorySaver>());
    { const auto range = app.stream(bar("i"), {.thread_id = "t"}, {.modes = StreamMode::updates}); }
    CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"i", "a", "b"});
    CHECK(log.take() == Strings{"a", "b"});
}

TEST_CASE("an error comes after the events before it, and a failed task has an end event and no update") {
    Graph graph;
    graph.addNode("a", appends("a")).addEdge(sg::START, "a").addEdge("a", "b");
    graph.addNode("b", [](const State&) -> Update { throw std::runtime_error("broken"); });
    Strings all;
    bool failed = false;
    try {
        for (const auto& event :
             graph.compile().stream(Update{}, {}, {.modes = {StreamMode::updates, StreamMode::tasks}})) {
            all.push_back(brief(event));
            if (all.size() == 5) CHECK(contains(event.data.toJson(), "\"error\":\"broken\""));
        }
    } catch (const sg::NodeError&) {
        failed = true;
    }
    CHECK(failed);
    CHECK(all == Strings{"start a", "updates {\"a\":{\"bar\":[\"a\"]}}", "end a", "start b", "end b"});
}

TEST_CASE("a callback that throws ends the run with its exception, and the thread continues exactly") {
    for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
        for (const bool routed : {false, true}) {
            CAPTURE(routed);
            Graph graph;
            graph.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a");
            if (routed) {
                graph.addConditionalEdges("a", [](const State&) { return "b"; });
            } else {
                graph.addEdge("a", "b");
            }
            const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
            const sg::RunConfig config{.thread_id = "t", .durability = durability};
            const auto call = [&] {
                app.stream(bar("i"), config, {.modes = StreamMode::updates},
                           [](const sg::StreamEvent&) { throw std::length_error("enough"); });
            };
            CHECK_THROWS_AS(call(), std::length_error);
            CHECK(app.invoke(sg::RESUME, config).values.bar == Strings{"i", "a", "b"});
        }
    }
}

// quirk 31
TEST_CASE("a superstep that writes nothing has no values event, and a node that wrote nothing an empty update") {
    Graph graph;
    graph.addNode("a", [](const State&) -> Update { return {}; }).addEdge(sg::START, "a");
    CHECK(told(graph.compile().stream(bar("i"), {}, {.modes = {StreamMode::values, StreamMode::updates}})) ==
          Strings{"values \"bar\":[\"i\"]}", "updates {\"a\":{}}"});
}

// quirk 32: what an earlier run finished starts again in the stream, marked as cached, and does not end again
TEST_CASE("on resume finished tasks are reported as cached") {
    Log log;
    Graph graph;
    graph.addNode("ask", asks(log, "ask"))
        .addNode("ok", appends(log, "ok"))
        .addEdge(sg::START, "ask")
        .addEdge(sg::START, "ok");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const sg::StreamOptions options{.modes = {StreamMode::updates, StreamMode::tasks}};
    const Strings first = told(app.stream(Update{}, {.thread_id = "t", .max_concurrency = 1}, options));
    CHECK(first == Strings{"start ask", "start ok", "updates {\"__interrupt__\":[\"what for ask?\"]}", "end ask",
                           "updates {\"ok\":{\"bar\":[\"ok\"]}}", "end ok"});
    Strings second = told(app.stream(sg::Command<>{.resume = "A"}, {.thread_id = "t"}, options));
    std::sort(second.begin(), second.end());
    CHECK(second == Strings{"end ask", "start ask", "start ok", "updates {\"ask\":{\"bar\":[\"ask:A\"]}}",
                            "updates {\"ok\":{\"bar\":[\"ok\"]},\"__metadata__\":{\"cached\":true}}"});
}

TEST_CASE("a breakpoint is reported in updates, and a resumed run begins with the values it found") {
    Log log;
    const App app = chain(log, std::make_shared<sg::MemorySaver>());
    const sg::StreamOptions options{.modes = StreamMode::updates};
    CHECK(told(app.stream(bar("i"), {.thread_id = "t", .interrupt_before = {"b"}}, options)).back() ==
          "updates {\"__interrupt__\":[]}");
    CHECK(told(app.stream(sg::RESUME, {.thread_id = "t"}, {.modes = StreamMode::values})) ==
          Strings{"values \"bar\":[\"i\",\"a\"]}", "values \"bar\":[\"i\",\"a\",\"b\"]}"});
}

TEST_CASE("a callback is called by one thread at a time") {
    Graph graph;
    for (const char* name : {"a", "b", "c", "d"}) {
        graph.addNode(name, [name](const State&, sg::Runtime& runtime) -> Update {
            for (int i = 0; i < 50; ++i) runtime.write(i);
            return bar(name);
        });
        graph.addEdge(sg::START, name);
    }
    Strings all;  // no lock is needed
    graph.compile().stream(Update{}, {}, {.modes = {StreamMode::custom, StreamMode::updates}},
                           [&all](const sg::StreamEvent& event) { all.push_back(event.node); });
    CHECK(all.size() == 204);
}

TEST_CASE("a question asked while nobody listens any more is kept") {
    Graph graph;
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
        runtime.write("asking");
        return bar(sg::interrupt<std::string>(runtime, "?"));
    });
    graph.addEdge(sg::START, "ask");
    for (const auto durability : {sg::Durability::async, sg::Durability::exit}) {
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const sg::RunConfig config{.thread_id = "t", .durability = durability};
        for (const auto& event : app.stream(Update{}, config, {.modes = StreamMode::custom})) {
            CHECK(event.node == "ask");
            break;
        }
        CHECK(app.getState({.thread_id = "t"}).interrupts().size() == 1);
        CHECK(app.invoke(sg::Command<>{.resume = "A"}, config).values.bar == Strings{"A"});
    }
}

TEST_CASE("a reader on whose thread the tasks run sees a task's start before the task runs") {
    Log log;
    const App app = chain(log, nullptr);
    Strings seen;
    for (const auto& event : app.stream(bar("i"), {}, {.modes = StreamMode::tasks}))
        seen.push_back(brief(event) + ", " + std::to_string(log.entries().size()) + " ran");
    CHECK(seen == Strings{"start a, 0 ran", "end a, 1 ran", "start b, 1 ran", "end b, 2 ran"});
}
