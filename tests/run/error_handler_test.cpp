#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/json.hpp>

#include "tests/run/handled_errors.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// The error handler that takes over the task of a failed node.
using namespace graphs;
using namespace std::chrono_literals;
using namespace handled_errors;

TEST_CASE("a handler's result takes the place of the failed node's, and the node's edges and routers stay silent") {
    savers::onEach([](savers::Store& store) {
        for (const bool beside : {false, true}) {
            for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
                CAPTURE(beside);
                Log log;
                Graph graph = broken(log, beside);
                graph.addConditionalEdges("x", [](const State&) { return "next"; }).onError("x", handles(log));
                const App app = graph.compile({.checkpointer = store.open()});
                const sg::RunConfig config{.thread_id = std::to_string(2 * static_cast<int>(durability) + beside),
                                           .durability = durability};
                const auto result = app.invoke(bar("i"), config);
                CHECK((result.status == sg::Status::done));
                CHECK(result.values.bar == (beside ? Strings{"i", "ok", text} : Strings{"i", text}));
                CHECK(log.takeSorted() == (beside ? Strings{"handler", "ok", "x"} : Strings{"handler", "x"}));
                const auto state = app.getState({.thread_id = config.thread_id});
                CHECK(state.values == result.values);
                CHECK(state.next.empty());
                CHECK(app.invoke(sg::RESUME, config).values.bar == result.values.bar);
                CHECK(log.entries().empty());
            }
        }
    });
}

TEST_CASE("history shows the failure and what the handler made of it") {
    for (const bool beside : {false, true}) {
        Log log;
        Graph graph = broken(log, beside);
        graph.onError("x", handles(log));
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        app.invoke(bar("i"), {.thread_id = "t"});
        bool seen = false;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            for (const auto& task : snapshot.tasks) {
                if (task.name != "x") continue;
                seen = true;
                CHECK(task.finished);
                CHECK(task.error == "x is broken");
                CHECK(task.result.toJson() == R"({"bar":[")" + text + R"("]})");
            }
        }
        CHECK(seen);
    }
}

TEST_CASE("a handler's Command continues where it says, with names and Sends") {
    Log log;
    for (const bool beside : {false, true}) {
        Graph graph = broken(log, beside);
        graph.addNode("fallback", appends(log, "fallback"));
        graph.addNode("w", [](const int& number) -> Update { return bar(std::to_string(number)); });
        graph.onError("x",
                      [](const State&, const sg::NodeFailure&) -> Command {
                          return {.update = bar("handled"), .go_to = {sg::Target("fallback"), sg::Send("w", 7)}};
                      },
                      {"fallback", "w"});
        CHECK(graph.compile().invoke(Update{}).values.bar ==
              (beside ? Strings{"ok", "handled", "fallback", "7"} : Strings{"handled", "fallback", "7"}));
    }
    CHECK(log.count("next") == 0);
}

TEST_CASE(
    "a failed node does not arrive at its joins; one that a Send runs next to a sound one fires their edges once") {
    Log log;
    Graph graph = broken(log, true);
    graph.addNode("both", appends(log, "both")).addEdge({"x", "ok"}, "both").onError("x", handles(log));
    graph.compile().invoke(Update{});
    CHECK(log.count("both") == 0);
    Graph sends;
    sends.addNode(
        "split",
        [](const State&) -> Command {
            return {.go_to = {sg::Send("w", 1), sg::Send("w", 2)}};
        },
        leadsTo({"w"}));
    sends.addNode("w", [](const int& number) -> Update {
        if (number == 1) throw std::runtime_error("broken");
        return bar(std::to_string(number));
    });
    sends.addNode("after", appends("after")).addEdge(sg::START, "split").addEdge("w", "after");
    sends.onError("w", [](const int& number, const sg::NodeFailure& failure) -> Update {
        return bar(failure.error + std::to_string(number));
    });
    CHECK(sends.compile().invoke(Update{}).values.bar == Strings{"broken1", "2", "after"});
}

TEST_CASE("a handler is called after the last attempt, and knows how many there were") {
    Log log;
    Graph graph;
    graph.addNode("x",
                  [&log](const State&) -> Update {
                      log.add("x");
                      throw std::runtime_error("x is broken");
                  },
                  {.retry = {.max_attempts = 3, .initial_interval = 0ms}});
    graph.addEdge(sg::START, "x").onError("x", handles(log));
    for (const int concurrency : {1, 4}) {
        CHECK(graph.compile().invoke(Update{}, {.max_concurrency = concurrency}).values.bar ==
              Strings{"x failed (x is broken) after 3"});
        CHECK(log.take() == Strings{"x", "x", "x", "handler"});
    }
    // An exception that is not retried.
    Graph once;
    once.addNode("x", breaks(log, "x"), {.retry = {.max_attempts = 3, .initial_interval = 0ms}})
        .addEdge(sg::START, "x")
        .onError("x", handles(log));
    CHECK(once.compile().invoke(Update{}).values.bar == Strings{text});
    CHECK(log.take() == Strings{"x", "handler"});
}

TEST_CASE("the first handler that fits counts: the node's own before the one for all") {
    Log log;
    Graph graph = broken(log, true);
    graph.addNode("y", breaks(log, "y")).addEdge(sg::START, "y");
    graph.onError("*", handles(log, "common")).onError("y", handles(log, "own"));
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"ok", text, "y failed (y is broken) after 1"});
    CHECK(log.takeSorted() == Strings{"common", "ok", "own", "x", "y"});
}

TEST_CASE("a failing router's node is handled, with the state as it was before") {
    for (const bool beside : {false, true}) {
        Log log;
        Graph graph;
        graph.addNode("x", appends(log, "x")).addEdge(sg::START, "x");
        if (beside) graph.addNode("ok", appends(log, "ok")).addEdge(sg::START, "ok");
        graph.addConditionalEdges("x", [](const State&) -> std::string { throw std::runtime_error("which way?"); });
        graph.onError("x", [](const State& state, const sg::NodeFailure& failure) -> Update {
            CHECK(state.bar == Strings{"i"});
            return bar(failure.error);
        });
        CHECK(graph.compile().invoke(bar("i")).values.bar ==
              (beside ? Strings{"i", "ok", "which way?"} : Strings{"i", "which way?"}));
    }
}

TEST_CASE("a handler gets what the node takes, or the state, and the run around it") {
    struct Part {
        std::string foo = {};
        static constexpr auto channels() { return sg::channels(sg::channel("foo", &Part::foo)); }
    };
    Log log;
    const auto run = [&](auto handler) {
        Graph graph;
        graph.addNode("x", [](const Part&) -> Update { throw 42; }).addEdge(sg::START, "x").onError("x", handler);
        return graph.compile().invoke({sg::set(&State::foo, "f"), sg::add(&State::n, 3)}).values.bar;
    };
    CHECK(run([](const Part& part, const sg::NodeFailure& failure) -> Update {
              return bar(part.foo + failure.error);
          }) == Strings{"funknown exception"});
    CHECK(run([](const State& state, const sg::NodeFailure&, sg::Runtime& runtime) -> Update {
              return bar(std::string(runtime.node()) + std::to_string(state.n) + std::to_string(runtime.attempt()));
          }) == Strings{"x31"});
    Graph sends;
    sends.addConditionalEdges(sg::START, [](const State&) { return sg::Send("w", 7); }, {"w"});
    sends.addNode("w", [](const int&) -> Update { throw std::runtime_error("broken"); });
    sends.onError("w", [](const State& state, const sg::NodeFailure&) -> Update { return bar(state.foo); });
    CHECK(sends.compile().invoke({sg::set(&State::foo, "f")}).values.bar == Strings{"f"});
}

TEST_CASE("interrupts, refusals of the library and unanswered types are not handled") {
    Log log;
    const auto make = [&](auto node) {
        Graph graph;
        graph.addNode("x", node).addEdge(sg::START, "x").onError("*", handles(log));
        return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    };
    const App asking = make(asks(log, "ask"));
    CHECK((asking.invoke(Update{}, {.thread_id = "t"}).status == sg::Status::interrupted));
    CHECK_THROWS_AS(asking.invoke(sg::Command<>{.resume = 42}, {.thread_id = "t"}), sg::WrongTypeError);
    CHECK(asking.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"}).values.bar == Strings{"ask:yes"});
    CHECK_THROWS_AS(
        make([](const State&) -> Command { return {.go_to = {"nowhere"}}; }).invoke(Update{}, {.thread_id = "t"}),
        sg::InvalidUpdateError);
    CHECK(log.count("handler") == 0);
}

TEST_CASE("a subgraph's failures are handled as its node's, its recursion limit too") {
    Log log;
    Graph inner;
    inner.addNode("in", breaks(log, "in")).addEdge(sg::START, "in");
    Graph circle;
    circle.addNode("round", appends("r")).addEdge(sg::START, "round").addConditionalEdges("round", [](const State&) {
        return "round";
    });
    for (const bool limit : {false, true}) {
        Graph graph;
        graph.addNode("sub", limit ? circle.compile() : inner.compile())
            .addEdge(sg::START, "sub")
            .onError("sub", handles(log));
        const auto result = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()})
                                .invoke(Update{}, {.thread_id = "t"})
                                .values.bar;
        REQUIRE(result.size() == 1);
        CHECK(contains(result[0],
                       limit ? "sub failed (the run took 25 supersteps" : "sub failed (in is broken) after 1"));
    }
}

TEST_CASE("a handler inside a subgraph may speak for the graph around") {
    Log log;
    Graph inner;
    inner.addNode("in", breaks(log, "in")).addEdge(sg::START, "in");
    inner.onError("in", [](const State&, const sg::NodeFailure& failure) -> Command {
        return {.update = bar(failure.error), .go_to = {"rescue"}, .graph = sg::PARENT};
    });
    Graph graph;
    graph.addNode("sub", inner.compile(), leadsTo({"rescue"}))
        .addNode("rescue", appends("rescue"))
        .addEdge(sg::START, "sub");
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"in is broken", "rescue"});
}

TEST_CASE("the failed task's end has the error; the handler's update and end go by a name of its own") {
    for (const bool beside : {false, true}) {
        Log log;
        Graph graph = broken(log, beside);
        graph.onError("x", [](const State&, const sg::NodeFailure&, sg::Runtime& runtime) -> Update {
            runtime.write("custom");
            return bar("handled");
        });
        Strings seen;
        graph.compile().stream(Update{}, {.max_concurrency = 1},
                               {.modes = {sg::StreamMode::updates, sg::StreamMode::tasks, sg::StreamMode::custom}},
                               [&](const sg::StreamEvent& event) {
                                   if (event.node == "ok") return;
                                   const std::string json = event.data.toJson();
                                   std::string line = event.node + " " + sg::toString(event.mode);
                                   if (contains(json, "\"error\":\"x is broken\"")) line += " error";
                                   if (contains(json, "handled")) line += " handled";
                                   seen.push_back(line);
                               });
        CHECK(seen == Strings{"x tasks", "x tasks error", "__error_handler__x custom",
                              "__error_handler__x updates handled", "__error_handler__x tasks handled"});
    }
}

TEST_CASE("handlers of tasks that fail at once: the state is the same in whatever order they end") {
    const auto run = [](int concurrency) {
        Graph graph;
        graph.addNode(
            "split",
            [](const State&) -> Command {
                Command command;
                for (int i = 0; i < 100; ++i) command.go_to.add(sg::Send("w", i));
                return command;
            },
            leadsTo({"w"}));
        graph.addNode("w", [](const int& number) -> Update {
            if (number % 3 == 0) throw std::runtime_error("broken");
            return bar(std::to_string(number));
        });
        graph.addEdge(sg::START, "split").onError("w", [](const int& number, const sg::NodeFailure& failure) -> Update {
            return bar(failure.error + std::to_string(number));
        });
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        return app.invoke(Update{}, {.thread_id = "t", .max_concurrency = concurrency}).values.bar;
    };
    const Strings in_turn = run(1);
    CHECK(in_turn.at(3) == "broken3");
    for (int i = 0; i < 3; ++i) CHECK(run(8) == in_turn);
}

TEST_CASE("a graph over JSON has handlers too") {
    sg::JsonSchema schema;
    schema.channel("said");
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("x",
                  [](const sg::JsonState&) -> sg::Update<sg::JsonState> { throw std::runtime_error("x is broken"); });
    graph.addEdge(sg::START, "x");
    graph.onError("*", [](const sg::JsonState& state, const sg::NodeFailure& failure) -> sg::Update<sg::JsonState> {
        return {sg::write("said", std::string(state["said"].as_string()) + ", " + failure.error)};
    });
    CHECK(graph.compile().invoke({sg::write("said", "so")}).values["said"] == "so, x is broken");
}
