#include <atomic>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Graphs that nodes call: Runtime::invoke and asyncInvoke.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

/// What is called: doubles a number in two steps.
struct Work {
    std::string name = {};
    int n = 0;
    int secret = 0;  // stays inside

    static constexpr auto channels() {
        return sg::channels(sg::channel("name", &Work::name), sg::channel("n", &Work::n),
                            sg::channel("secret", &Work::secret));
    }
};
struct WorkResult {
    std::string name = {};
    int n = 0;

    static constexpr auto channels() {
        return sg::channels(sg::channel("name", &WorkResult::name), sg::channel("n", &WorkResult::n));
    }
};
using WorkApp = sg::CompiledGraph<Work, Work, WorkResult>;

enum class Asks : bool { no, yes };

/// "first" keeps, "second" adds what it asks for (1 if it does not ask).
WorkApp worker(Log& log, Asks asks, const sg::CompileOptions& options = {}) {
    sg::StateGraph<Work, Work, WorkResult> graph;
    graph.addNode("first", [&log](const Work& work) -> sg::Update<Work> {
        log.add("first " + work.name);
        return {sg::set(&Work::n, work.n * 2), sg::set(&Work::secret, 7)};
    });
    graph.addNode("second", [&log, asks](const Work& work, sg::Runtime& rt) -> sg::Update<Work> {
        const int more = asks == Asks::yes ? sg::interrupt<int>(rt, "more", "how many more for " + work.name + "?") : 1;
        log.add("second " + work.name);
        return {sg::set(&Work::n, work.n + more)};
    });
    graph.addEdge("first", "second");
    graph.addEdge(sg::START, "first");
    return graph.compile(options);
}

sg::Update<Work> work(std::string name, int n) { return {sg::set(&Work::name, std::move(name)), sg::set(&Work::n, n)}; }

std::string text(const WorkResult& result) { return result.name + "=" + std::to_string(result.n); }

/// A graph of one node "n", blocking or a coroutine, that calls `inner` for each name.
Graph caller(const WorkApp& inner, Strings names, bool awaited, const sg::NodeOptions& options = {}) {
    Graph graph;
    if (!awaited) {
        graph.addNode(
            "n",
            [inner, names](const State&, sg::Runtime& rt) -> Update {
                Strings results;
                for (const std::string& name : names) results.push_back(text(rt.invoke(inner, work(name, 10), name)));
                return {sg::overwrite(&State::bar, std::move(results))};
            },
            options);
    } else {
        graph.addNode(
            "n",
            [inner, names](const State&, sg::Runtime& rt) -> sg::Task<Update> {
                std::vector<sg::Task<WorkResult>> calls;
                for (const std::string& name : names) calls.push_back(rt.asyncInvoke(inner, work(name, 10), name));
                std::vector<WorkResult> all = co_await sg::whenAll(std::move(calls));
                Strings results;
                for (const WorkResult& each : all) results.push_back(text(each));
                Update update{sg::overwrite(&State::bar, std::move(results))};
                co_return update;
            },
            options);
    }
    graph.addEdge(sg::START, "n");
    return graph;
}

Strings keysOf(const std::vector<sg::Interrupt>& interrupts) {
    Strings keys;
    for (const auto& each : interrupts) keys.push_back(each.value.as<std::string>());
    return keys;
}

/// Answers whatever is open, one question after the other, until the run ends.
template <class S, class Outcome, class Run>
Outcome answerAll(const sg::CompiledGraph<S>& app, Outcome outcome, Run run) {
    for (int i = 0; i < 20 && outcome.status == sg::Status::interrupted; ++i) {
        CHECK(app.getState({.thread_id = outcome.config.thread_id}).interrupts() == outcome.interrupts);
        outcome = run(sg::Command<>{.answers = {{outcome.interrupts.at(0).id, 5}}});
        REQUIRE(outcome.what() == "");
    }
    return outcome;
}

}  // namespace

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

TEST_CASE("questions inside a call are the thread's, and an answer goes on inside without repeating what has ended") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto saver = store.open();
        for (const sg::Durability durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
            const App app = caller(worker(log, Asks::yes), {"a", "b"}, false).compile({.checkpointer = saver});
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(driver.name);
                (void)log.take();
                const sg::RunConfig config{.thread_id = driver.name + std::to_string(static_cast<int>(durability)),
                                           .durability = durability};
                const auto run = [&](auto input) { return driver.run(app, std::move(input), config); };
                auto outcome = run(Update{});
                REQUIRE(outcome.what() == "");
                CHECK(keysOf(outcome.interrupts) == Strings{"how many more for a?"});
                CHECK(outcome.interrupts.at(0).key == "more");
                outcome = answerAll(app, std::move(outcome), run);
                CHECK(outcome.values.bar == Strings{"a=25", "b=25"});
                CHECK(log.take() == Strings{"first a", "second a", "first b", "second b"});
            }
        }
    });
}

TEST_CASE("calls made at the same time all ask, and are answered in any order and number") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const App app = caller(worker(log, Asks::yes), {"a", "b", "c"}, true).compile({.checkpointer = store.open()});
        for (const drivers::Driver& driver : drivers::crossed()) {
            CAPTURE(driver.name);
            (void)log.take();
            const sg::RunConfig config{.thread_id = driver.name};
            auto outcome = driver.run(app, Update{}, config);
            REQUIRE(outcome.what() == "");
            CHECK(keysOf(outcome.interrupts) ==
                  Strings{"how many more for a?", "how many more for b?", "how many more for c?"});
            REQUIRE(outcome.interrupts.size() == 3);
            outcome = driver.run(
                app, sg::Command<>{.answers = {{outcome.interrupts[2].id, 3}, {outcome.interrupts[0].id, 1}}}, config);
            REQUIRE(outcome.what() == "");
            CHECK(keysOf(outcome.interrupts) == Strings{"how many more for b?"});
            outcome = driver.run(app, sg::Command<>{.answers = {{"more", 2}}}, config);
            REQUIRE(outcome.what() == "");
            CHECK(outcome.values.bar == Strings{"a=21", "b=22", "c=23"});
            CHECK(log.takeSorted() == Strings{"first a", "first b", "first c", "second a", "second b", "second c"});
        }
    });
}

TEST_CASE("an answer of the wrong type for a question inside a call is refused, and the question stays open") {
    Log log;
    const App app =
        caller(worker(log, Asks::yes), {"a"}, false).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const sg::RunConfig config{.thread_id = driver.name};
        (void)driver.run(app, Update{}, config);
        const auto refused = driver.run(app, sg::Command<>{.resume = sg::Value("five")}, config);
        CHECK(contains(refused.what(), "wrong type"));
        CHECK(app.getState({.thread_id = driver.name}).interrupts().size() == 1);
        CHECK(driver.run(app, sg::Command<>{.resume = sg::Value(5)}, config).values.bar == Strings{"a=25"});
    }
}

TEST_CASE(
    "whichever call of the saver fails, the thread goes on to the same end, and nothing that has ended runs again") {
    bool is_first_store = true;  // on the second one, where this takes long, not all of it
    savers::onEach([&](savers::Store& store) {
        const bool all = std::exchange(is_first_store, false);
        const auto faults = std::make_shared<sg::testing::FaultSaver>(store.open());
        for (const bool awaited : {false, true}) {
            for (const sg::Durability durability :
                 {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
                for (const bool after : {false, true}) {
                    if (!all && (durability != sg::Durability::async || after)) continue;
                    bool failed = true;
                    for (std::size_t nth = 1; failed && nth < 100; ++nth) {
                        CAPTURE(awaited);
                        CAPTURE(nth);
                        CAPTURE(after);
                        CAPTURE(static_cast<int>(durability));
                        Log log;
                        const App app =
                            caller(worker(log, Asks::yes), {"a", "b"}, awaited).compile({.checkpointer = faults});
                        const drivers::Driver& driver = drivers::all()[nth % drivers::all().size()];
                        CAPTURE(driver.name);
                        const sg::RunConfig config{.thread_id = std::to_string(nth) + (awaited ? "a" : "b") +
                                                                (after ? "a" : "b") +
                                                                std::to_string(static_cast<int>(durability)),
                                                   .durability = durability};
                        faults->arm({.fail_at = nth, .after_effect = after});
                        auto outcome = driver.run(app, Update{}, config);
                        for (int i = 0; i < 20 && (outcome.failed() || outcome.status != sg::Status::done); ++i) {
                            faults->failures() > 0 ? faults->disarm() : (void)0;
                            if (!outcome.failed() && !outcome.interrupts.empty()) {
                                outcome = driver.run(app, sg::Command<>{.answers = {{outcome.interrupts.at(0).id, 5}}},
                                                     config);
                                continue;
                            }
                            const auto snapshot = app.getState({.thread_id = config.thread_id});
                            if (!snapshot.config.checkpoint_id) {
                                outcome = driver.run(app, Update{}, config);
                            } else {
                                outcome = driver.run(app, sg::RESUME, config);
                            }
                        }
                        failed = faults->failures() > 0;
                        faults->disarm();
                        CHECK(outcome.what() == "");
                        CHECK(app.getState({.thread_id = config.thread_id}).values.bar == Strings{"a=25", "b=25"});
                        if (!failed) {
                            CHECK(log.count("first a") == 1);
                            CHECK(log.count("second b") == 1);
                        }
                    }
                    CHECK_FALSE(failed);
                }
            }
        }
    });
}

TEST_CASE("a saver that fails below a call fails the run: neither the node's policy nor its error handler is asked") {
    const sg::NodeOptions retried{.retry = {.max_attempts = 3, .initial_interval = 1ms}};
    for (const drivers::Driver& driver : drivers::all()) {
        for (const bool awaited : {false, true}) {
            bool failed = true;
            for (std::size_t nth = 1; failed && nth < 100; ++nth) {
                CAPTURE(driver.name);
                CAPTURE(awaited);
                CAPTURE(nth);
                Log log;
                std::atomic<int> handled = 0;
                Graph graph = caller(worker(log, Asks::no), {"a"}, awaited, retried);
                graph.onError("n", [&](const State&, const sg::NodeFailure&) -> Update {
                    ++handled;
                    return {};
                });
                const auto faults = std::make_shared<sg::testing::FaultSaver>(std::make_shared<sg::MemorySaver>());
                const App app = graph.compile({.checkpointer = faults});
                faults->arm({.fail_at = nth, .calls = sg::testing::SaverCalls::put});
                const sg::RunConfig config{.thread_id = "1"};
                auto outcome = driver.run(app, Update{}, config);
                failed = faults->failures() > 0;
                faults->disarm();
                CHECK(outcome.failed() == failed);
                if (failed) {
                    const bool has_begun = static_cast<bool>(app.getState(config).config.checkpoint_id);
                    outcome = has_begun ? driver.run(app, sg::RESUME, config) : driver.run(app, Update{}, config);
                }
                CHECK(outcome.what() == "");
                CHECK(app.getState(config).values.bar == Strings{"a=21"});
                CHECK(handled == 0);
                CHECK(log.count("first a") <= 2);
            }
            CHECK_FALSE(failed);
        }
    }
}

TEST_CASE("a run that is abandoned in a call goes on there") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        for (const bool awaited : {false, true}) {
            for (const drivers::Driver& driver : drivers::affordable()) {
                if (!driver.canAbandon()) continue;
                for (const std::size_t steps : {1, 2, 3, 5}) {
                    CAPTURE(awaited);
                    CAPTURE(driver.name);
                    CAPTURE(steps);
                    Log log;
                    const App app = caller(worker(log, Asks::no), {"a", "b"}, awaited).compile({.checkpointer = saver});
                    const sg::RunConfig config{.thread_id = driver.name + std::to_string(steps) + (awaited ? "a" : "b"),
                                               .durability = sg::Durability::async};
                    (void)driver.abandon(app, Update{}, config, {.steps = steps});
                    const bool begun =
                        static_cast<bool>(app.getState({.thread_id = config.thread_id}).config.checkpoint_id);
                    const auto done = begun ? drivers::blocking().run(app, sg::RESUME, config)
                                            : drivers::blocking().run(app, Update{}, config);
                    REQUIRE(done.what() == "");
                    CHECK(done.values.bar == Strings{"a=21", "b=21"});
                }
            }
        }
    });
}

TEST_CASE("a stop, a drain and the limits of a node reach the graph that it calls") {
    for (const bool awaited : {false, true}) {
        CAPTURE(awaited);
        Log log;
        // Its second step waits until somebody ends it, the first time.
        const auto make = [&](std::shared_ptr<std::atomic<int>> visits, std::function<void(sg::Runtime&)> wait) {
            sg::StateGraph<Work, Work, WorkResult> graph;
            graph.addNode("first", [&log](const Work& given) -> sg::Update<Work> {
                log.add("first");
                return {sg::set(&Work::n, given.n * 2)};
            });
            graph.addNode("second", [visits, wait](const Work& given, sg::Runtime& rt) -> sg::Update<Work> {
                if (visits->fetch_add(1) == 0) wait(rt);
                return {sg::set(&Work::n, given.n + 1)};
            });
            graph.addEdge("first", "second");
            graph.addEdge(sg::START, "first");
            return WorkApp(graph.compile());
        };
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            {
                (void)log.take();
                const auto control = std::make_shared<sg::RunControl>();
                const WorkApp inner = make(std::make_shared<std::atomic<int>>(0), [&](sg::Runtime& rt) {
                    control->requestStop();
                    rt.waitFor(std::chrono::milliseconds(10'000));
                });
                const App app =
                    caller(inner, {"a"}, awaited).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
                const auto stopped = driver.run(app, Update{}, {.thread_id = "1", .control = control});
                REQUIRE(stopped.what() == "");
                CHECK((stopped.status == sg::Status::cancelled));
                CHECK(driver.run(app, sg::RESUME, {.thread_id = "1"}).values.bar == Strings{"a=21"});
                CHECK(log.take() == Strings{"first"});
            }
            {
                (void)log.take();
                const auto control = std::make_shared<sg::RunControl>();
                const WorkApp inner = make(std::make_shared<std::atomic<int>>(1), [](sg::Runtime&) {});
                Graph graph = caller(inner, {"a"}, awaited);
                const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
                control->requestDrain("going down");
                const auto drained = driver.run(app, Update{}, {.thread_id = "1", .control = control});
                CHECK((drained.status == sg::Status::drained));
                CHECK(driver.run(app, sg::RESUME, {.thread_id = "1"}).values.bar == Strings{"a=21"});
                CHECK(log.take() == Strings{"first"});
            }
            {
                (void)log.take();
                const WorkApp inner = make(std::make_shared<std::atomic<int>>(0),
                                           [](sg::Runtime& rt) { rt.waitFor(std::chrono::milliseconds(10'000)); });
                const App app = caller(inner, {"a"}, awaited,
                                       {.retry = {.max_attempts = 2, .initial_interval = {}, .jitter = false},
                                        .timeout = std::chrono::milliseconds(100)})
                                    .compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
                const auto done = driver.run(app, Update{}, {.thread_id = "1"});
                REQUIRE(done.what() == "");
                CHECK(done.values.bar == Strings{"a=21"});
                CHECK(log.take() == Strings{"first"});  // the second attempt went on inside
            }
        }
    }
}

TEST_CASE("a drain inside a call ends the run there") {
    const auto control = std::make_shared<sg::RunControl>();
    Log log;
    sg::StateGraph<Work, Work, WorkResult> inner;
    inner.addNode("first", [&](const Work& given) -> sg::Update<Work> {
        log.add("first");
        control->requestDrain("going down");
        return {sg::set(&Work::n, given.n * 2)};
    });
    inner.addNode("second", [&](const Work& given) -> sg::Update<Work> {
        log.add("second");
        return {sg::set(&Work::n, given.n + 1)};
    });
    inner.addEdge("first", "second");
    inner.addEdge(sg::START, "first");
    const App app =
        caller(inner.compile(), {"a"}, false).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto drained = app.invoke(Update{}, {.thread_id = "1", .control = control});
    CHECK((drained.status == sg::Status::drained));
    CHECK(log.take() == Strings{"first"});
    CHECK(app.invoke(sg::RESUME, {.thread_id = "1"}).values.bar == Strings{"a=21"});
    CHECK(log.take() == Strings{"second"});
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

    Graph together;
    together.addNode("n", [&](const State&, sg::Runtime& rt) -> sg::Task<Update> {
        sg::StateGraph<Work, Work, WorkResult> slow;
        slow.addNode("sleeps", [](const Work&) -> sg::Task<sg::Update<Work>> {
            co_await sg::sleepFor(20ms);
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
    const auto error = thrown<sg::NodeError>([&] { sg::syncWait(together.compile().asyncInvoke(Update{})); });
    CHECK(contains(error.what(), "while its call with that key is under way"));
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

TEST_CASE("what a call fails with can be caught by the node, and a resumed one goes on where it failed") {
    Log log;
    auto fails = std::make_shared<bool>(true);
    sg::StateGraph<Work, Work, WorkResult> graph;
    graph.addNode("first", [&log](const Work& given) -> sg::Update<Work> {
        log.add("first");
        return {sg::set(&Work::n, given.n * 2)};
    });
    graph.addNode("second", [fails](const Work& given) -> sg::Update<Work> {
        if (*fails) throw std::runtime_error("broken");
        return {sg::set(&Work::n, given.n + 1)};
    });
    graph.addEdge("first", "second");
    graph.addEdge(sg::START, "first");
    const WorkApp inner = graph.compile();
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        *fails = true;
        (void)log.take();
        const App app = caller(inner, {"a"}, false).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto failed = driver.run(app, Update{}, {.thread_id = "1"});
        CHECK(contains(failed.what(), "broken"));
        CHECK(contains(failed.what(), "'second'"));
        *fails = false;
        CHECK(driver.run(app, sg::RESUME, {.thread_id = "1"}).values.bar == Strings{"a=21"});
        CHECK(log.take() == Strings{"first"});
    }
    *fails = true;
    Graph catches;
    catches.addNode("n", [&](const State&, sg::Runtime& rt) -> Update {
        try {
            (void)rt.invoke(inner, work("a", 1), "a");
        } catch (const sg::NodeError&) {
            *fails = false;
        }
        return {sg::add(&State::bar, text(rt.invoke(inner, work("a", 1), "a")))};
    });
    catches.addEdge(sg::START, "n");
    (void)log.take();
    const App app = catches.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(app.invoke(Update{}, {.thread_id = "1"}).values.bar == Strings{"a=3"});
    CHECK(log.take() == Strings{"first"});
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
namespace {

struct Parent {
    std::string label = {};
    Strings seen = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel("label", &Parent::label), sg::channel("seen", &Parent::seen, sg::append));
    }
};

sg::CompiledGraph<Work> handsOver() {
    sg::StateGraph<Work> inner;
    inner.addNode("leaves", [](const Work& given) -> sg::Command<Parent> {
        return {.update = {sg::set(&Parent::label, given.name), sg::add(&Parent::seen, "inner")},
                .go_to = "other",
                .graph = sg::PARENT};
    });
    inner.addEdge(sg::START, "leaves");
    return inner.compile();
}

}  // namespace

TEST_CASE("a node inside writes to the parent's state with a Command of that state, from a subgraph and from a call") {
    for (const bool called : {false, true}) {
        CAPTURE(called);
        sg::StateGraph<Parent> graph;
        const auto inner = handsOver();
        if (called) {
            graph.addNode("inner",
                          [inner](const Parent&, sg::Runtime& rt) -> sg::Update<Parent> {
                              (void)rt.invoke(inner, work("inside", 1), "k");
                              return {sg::set(&Parent::label, "never")};
                          },
                          {.ends = {"other"}});
        } else {
            graph.addNode(
                "inner", inner, [](const Parent&) { return work("inside", 1); },
                [](const Work&) { return sg::Update<Parent>{}; }, {.ends = {"other"}});
        }
        graph.addNode("other", [](const Parent& state) -> sg::Update<Parent> {
            return {sg::add(&Parent::seen, "other after " + state.label)};
        });
        graph.addEdge(sg::START, "inner");
        const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto done = driver.run(app, sg::Update<Parent>{}, {.thread_id = driver.name});
            REQUIRE(done.what() == "");
            CHECK(done.values.label == "inside");
            CHECK(done.values.seen == Strings{"inner", "other after inside"});
        }
    }
}

TEST_CASE("a Command with an update of another state than the parent's, or without PARENT, is an error that says so") {
    Graph graph;
    graph.addNode(
        "inner", handsOver(), [](const State&) { return work("x", 1); }, [](const Work&) { return Update{}; },
        {.ends = {"other"}});
    graph.addNode("other", appends("other"));
    graph.addEdge(sg::START, "inner");
    CHECK(contains(thrown<sg::InvalidUpdateError>([&] { graph.compile().invoke(Update{}); }).what(),
                   "of another state than that graph's"));

    sg::StateGraph<Work> inner;
    inner.addNode("stays",
                  [](const Work&) -> sg::Command<Parent> { return {.update = {sg::set(&Parent::label, "x")}}; });
    inner.addEdge(sg::START, "stays");
    CHECK(contains(thrown<sg::InvalidUpdateError>([&] { inner.compile().invoke(sg::Update<Work>{}); }).what(),
                   "graph = PARENT"));
}
