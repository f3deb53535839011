#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/run/graph_calls.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Graphs that nodes call: Runtime::invoke and asyncInvoke.
using namespace graphs;
using namespace std::chrono_literals;
using namespace graph_calls;

TEST_CASE("a node calls a graph, in a loop or at the same time, and gets what it returns") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto saver = store.open();
        for (const bool awaited : {false, true}) {
            const App app = caller(worker(log, Asks::no), {"a", "b", "c"}, awaited).compile({.checkpointer = saver});
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(awaited);
                CAPTURE(driver.name);
                (void)log.take();
                const auto done = driver.run(app, Update{}, {.thread_id = driver.name + (awaited ? " awaited" : "")});
                REQUIRE(done.what() == "");
                CHECK(done.values.bar == Strings{"a=21", "b=21", "c=21"});
                CHECK(log.takeSorted() == Strings{"first a", "first b", "first c", "second a", "second b", "second c"});
            }
        }
    });
}

TEST_CASE("without a saver a call works for the run, and one that has ended is not made again by a retry") {
    Log log;
    const WorkApp inner = worker(log, Asks::no);
    Graph graph;
    graph.addNode("n",
                  [&](const State&, sg::Runtime& rt) -> Update {
                      const auto result = rt.invoke(inner, work("a", 10), "a");
                      if (rt.attempt() == 1) throw std::runtime_error("once more");
                      return {sg::add(&State::bar, text(result))};
                  },
                  {.retry = {.max_attempts = 2, .initial_interval = {}, .jitter = false}});
    graph.addEdge(sg::START, "n");
    const App app = graph.compile();
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        (void)log.take();
        const auto done = driver.run(app, Update{});
        REQUIRE(done.what() == "");
        CHECK(done.values.bar == Strings{"a=21"});
        CHECK(log.take() == Strings{"first a", "second a"});
    }
}

TEST_CASE("a call's log is found through its task, and read with the state of its graph") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const App app = caller(worker(log, Asks::yes), {"a", "b|c"}, true).compile({.checkpointer = store.open()});
        (void)app.invoke(Update{}, {.thread_id = "1"});
        const auto snapshot = app.getState({.thread_id = "1"}, {.subgraphs = true});
        REQUIRE(snapshot.tasks.size() == 1);
        REQUIRE(snapshot.tasks[0].calls.size() == 2);
        CHECK(app.getState({.thread_id = "1"}).tasks[0].calls.empty());
        const sg::CallSnapshot& call = snapshot.tasks[0].calls[1];
        CHECK(call.key == "b|c");
        CHECK(call.state_config.checkpoint_ns == "n:" + snapshot.tasks[0].id.toString() + ":b%7Cc");
        REQUIRE(call.state);
        CHECK(call.state->values_as_cbor.toJson() == R"({"n":20,"name":"b|c","secret":7})");
        CHECK(call.state->next == Strings{"second"});
        CHECK(call.state->interrupts().size() == 1);
        CHECK(contains(sg::toJson(snapshot), R"("calls":{"a":{)"));
        const auto inside = app.getState<Work>(call.state_config);
        CHECK(inside.values.n == 20);
        CHECK(inside.values.secret == 7);
        CHECK(inside.isSet(&Work::n));
        CHECK(inside.interrupts() == call.state->interrupts());
        CHECK(app.getState(call.state_config).valuesAsJson() == R"({"n":20,"name":"b|c","secret":7})");
        std::vector<int> numbers;
        for (const auto& each : app.getStateHistory<Work>(call.state_config)) numbers.push_back(each.values.n);
        CHECK(numbers == std::vector<int>{20, 10, 0});
        CHECK(contains(
            thrown<sg::InvalidArgumentError>([&] { app.updateState(call.state_config, sg::Update<Work>{}); }).what(),
            "calls (Runtime::invoke)"));
        auto inner_config = sg::RunConfig{.thread_id = "1"};
        inner_config.checkpoint_ns = call.state_config.checkpoint_ns;
        inner_config.checkpoint_id = inside.config.checkpoint_id;
        CHECK(contains(thrown<sg::InvalidArgumentError>([&] { app.invoke(sg::RESUME, inner_config); }).what(),
                       "calls (Runtime::invoke)"));
    });
}

TEST_CASE("a run that begins at an earlier checkpoint makes its calls anew") {
    Log log;
    const App app =
        caller(worker(log, Asks::yes), {"a"}, false).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const sg::RunConfig config{.thread_id = "1"};
    (void)app.invoke(Update{}, config);
    CHECK(app.invoke(sg::Command<>{.resume = sg::Value(5)}, config).values.bar == Strings{"a=25"});
    sg::CheckpointId before;
    for (const auto& each : app.getStateHistory({.thread_id = "1"})) {
        if (each.next == Strings{"n"}) before = each.config.checkpoint_id;
    }
    (void)log.take();
    const auto asked = app.invoke(sg::RESUME, {.thread_id = "1", .checkpoint_id = before});
    CHECK((asked.status == sg::Status::interrupted));
    CHECK(log.take() == Strings{"first a"});
    CHECK(app.invoke(sg::Command<>{.resume = sg::Value(6)}, config).values.bar == Strings{"a=26"});
}

TEST_CASE("events of a call have its namespace, and those of both graphs come in order") {
    Log log;
    const App app = caller(worker(log, Asks::no), {"a"}, false).compile();
    Strings nodes;
    (void)app.stream(Update{}, {}, {.modes = sg::StreamMode::updates, .subgraphs = true},
                     [&](const sg::StreamEvent& event) {
                         std::string place;
                         for (const auto& segment : event.ns)
                             place += segment.substr(0, segment.find(':')) + segment.substr(segment.rfind(':')) + "/";
                         nodes.push_back(place + event.node);
                     });
    CHECK(nodes == Strings{"n:a/first", "n:a/second", "n"});
}

TEST_CASE("a key names one call of a task: again it gives the result, and not while the call is under way") {
    Log log;
    const WorkApp inner = worker(log, Asks::no);
    Graph graph;
    graph.addNode("n", [&](const State&, sg::Runtime& rt) -> Update {
        const auto first = rt.invoke(inner, work("a", 10), "key");
        const auto second = rt.invoke(inner, work("b", 20), "key");
        return {sg::add(&State::bar, text(first)), sg::add(&State::bar, text(second))};
    });
    graph.addEdge(sg::START, "n");
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"a=21", "a=21"});
    CHECK(log.take() == Strings{"first a", "second a"});

    // The second call has to come before the first one has ended.
    CHECK(withEnoughTime(20ms, [](std::chrono::milliseconds time) {
        Graph together;
        together.addNode("n", [time](const State&, sg::Runtime& rt) -> sg::Task<Update> {
            sg::StateGraph<Work, Work, WorkResult> slow;
            slow.addNode("sleeps", [time](const Work&) -> sg::Task<sg::Update<Work>> {
                co_await sg::sleepFor(time);
                sg::Update<Work> update;
                co_return update;
            });
            slow.addEdge(sg::START, "sleeps");
            const WorkApp sleeps = slow.compile();
            std::vector<sg::Task<WorkResult>> calls;
            calls.push_back(rt.asyncInvoke(sleeps, work("a", 1), "key"));
            calls.push_back(rt.asyncInvoke(sleeps, work("b", 1), "key"));
            (void)co_await sg::whenAll(std::move(calls));
            Update update;
            co_return update;
        });
        together.addEdge(sg::START, "n");
        try {
            sg::syncWait(together.compile().asyncInvoke(Update{}));
        } catch (const sg::NodeError& error) {
            CHECK(contains(error.what(), "while its call with that key is under way"));
            return true;
        }
        return false;
    }));
}

TEST_CASE("a key that cannot be one, and a graph that remembers its visits, are refused") {
    Log log;
    const auto refusal = [&](const WorkApp& inner, const std::string& key) {
        Graph graph;
        graph.addNode("n", [&](const State&, sg::Runtime& rt) -> Update {
            (void)rt.invoke(inner, work("a", 1), key);
            return {};
        });
        graph.addEdge(sg::START, "n");
        return std::string(thrown<sg::NodeError>([&] { graph.compile().invoke(Update{}); }).what());
    };
    const WorkApp inner = worker(log, Asks::no);
    CHECK(contains(refusal(inner, ""), "has 0 bytes"));
    CHECK(contains(refusal(inner, std::string(201, 'k')), "has 201 bytes"));
    CHECK(contains(refusal(inner, "\xff"), "not UTF-8"));
    CHECK(contains(refusal(worker(log, Asks::no, {.checkpointer = sg::PER_THREAD}), "k"), "PER_THREAD"));
}

TEST_CASE("a call has the run's limit of supersteps, context and store") {
    sg::StateGraph<Work> endless;
    endless.addNode("again", [](const Work& given) -> sg::Update<Work> { return {sg::set(&Work::n, given.n + 1)}; });
    endless.addEdge(sg::START, "again").addConditionalEdges("again", [](const Work&) { return "again"; });
    const auto inner = endless.compile();
    Graph graph;
    graph.addNode("n", [inner](const State&, sg::Runtime& rt) -> Update {
        (void)rt.invoke(inner, sg::Update<Work>{}, "endless");
        return {};
    });
    graph.addEdge(sg::START, "n");
    const auto error = thrown<sg::NodeError>([&] { graph.compile().invoke(Update{}, {.recursion_limit = 7}); });
    CHECK(contains(error.what(), "7 supersteps"));

    sg::StateGraph<Work> asks;
    asks.addNode("asks", [](const Work&, sg::Runtime& rt) -> sg::Update<Work> {
        return {sg::set(&Work::n, rt.context<int>())};
    });
    asks.addEdge(sg::START, "asks");
    const auto knows = asks.compile();
    Graph given;
    given.addNode("n", [knows](const State&, sg::Runtime& rt) -> Update {
        return {sg::add(&State::n, rt.invoke(knows, sg::Update<Work>{}, "k").n)};
    });
    given.addEdge(sg::START, "n");
    CHECK(given.compile().invoke(Update{}, {.context = 42}).values.n == 42);
}

TEST_CASE("calls are made inside calls, and a question comes up through all of them") {
    Log log;
    const WorkApp innermost = worker(log, Asks::yes);
    sg::StateGraph<Work, Work, WorkResult> middle;
    middle.addNode("calls", [innermost](const Work& given, sg::Runtime& rt) -> sg::Update<Work> {
        return {sg::set(&Work::n, rt.invoke(innermost, work(given.name, given.n), "deep").n)};
    });
    middle.addEdge(sg::START, "calls");
    savers::onEach([&](savers::Store& store) {
        const App app = caller(middle.compile(), {"a", "b"}, true).compile({.checkpointer = store.open()});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            (void)log.take();
            const sg::RunConfig config{.thread_id = driver.name};
            const auto run = [&](auto input) { return driver.run(app, std::move(input), config); };
            auto outcome = run(Update{});
            REQUIRE(outcome.what() == "");
            CHECK(outcome.interrupts.size() == 2);
            const auto snapshot = app.getState({.thread_id = driver.name}, {.subgraphs = true});
            REQUIRE(snapshot.tasks.at(0).calls.size() == 2);
            CHECK(snapshot.tasks[0].calls[0].state->tasks.at(0).calls.at(0).key == "deep");
            outcome = answerAll(app, std::move(outcome), run);
            CHECK(outcome.values.bar == Strings{"a=25", "b=25"});
            CHECK(log.takeSorted() == Strings{"first a", "first b", "second a", "second b"});
        }
    });
}

TEST_CASE("pruning drops the log of a past call") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto saver = store.open();
        const App app = caller(worker(log, Asks::no), {"a"}, false).compile({.checkpointer = saver});
        (void)app.invoke(Update{}, {.thread_id = "1"});
        CHECK(saver->list({.thread_id = "1", .heads = true}).size() == 2);
        (void)saver->prune({.keep_last = 1});
        CHECK(saver->list({.thread_id = "1", .heads = true}).size() == 1);
    });
}

// --------------------------------------------------------------------------------------- Commands for the graph around
