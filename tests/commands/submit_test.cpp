#include <algorithm>
#include <functional>
#include <map>

#include <stategraph/async.hpp>
#include <stategraph/observer.hpp>
#include <stategraph/stream_hub.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/commands/threads.hpp"
#include "tests/support/drivers.hpp"

// Inputs and Commands that are stored for a later run.
using namespace graphs;
using namespace commands_test;

namespace {

// Returns a graph with a join, Sends, a subgraph with memory, a question, and nodes to which only Commands lead.
App wholeApp(const Saver& saver, Log& log) {
    Graph inner;
    inner.addNode("deep", appends("deep")).addEdge(sg::START, "deep");
    Graph graph;
    for (const char* node : {"a", "joined", "aside"}) graph.addNode(node, appends(log, node));
    graph.addNode("b", appends(log, "b"), {.ends = {"aside"}});
    graph.addNode("kept", inner.compile({.checkpointer = sg::PER_THREAD})).addNode("ask", asks(log, "ask"));
    graph.addNode("sent", [](const std::string& payload) { return bar(payload); });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge({"a", "b"}, "joined");
    graph.addEdge("joined", "kept").addEdge("kept", "ask");
    graph.addConditionalEdges("b",
                              [](const State&) {
                                  return std::vector<sg::Send>{{"sent", std::string("p")}, {"sent", std::string("q")}};
                              },
                              {"sent"});
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

enum class Way { blocking, awaited };

template <class In>
sg::Config submit(Way way, const App& app, In input, const sg::RunConfig& config) {
    if (way == Way::blocking) return app.submit(std::move(input), config);
    return sg::syncWait(app.asyncSubmit(std::move(input), config));
}

}  // namespace

TEST_CASE(
    "a submitted input is stored and not run, and what takes it up writes the log that invoke would have written") {
    onSavers([](const Saver& saver) {
        Log log;
        const App app = wholeApp(saver, log);
        for (const Way way : {Way::blocking, Way::awaited}) {
            const std::string invoked = way == Way::blocking ? "invoked" : "invoked too";
            const auto config = [&](const std::string& thread) {
                return sg::RunConfig{.thread_id = thread, .max_concurrency = 1, .metadata = {{"user", "Ada"}}};
            };
            const auto first = app.invoke(bar("i"), config(invoked));
            const auto second = app.invoke(sg::resume("yes"), config(invoked));
            const auto third = app.invoke(bar("j"), config(invoked));
            log.take();
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(driver.name);
                const std::string thread = invoked + driver.name;
                const auto takes = [&] {
                    CHECK(log.take().empty());
                    CHECK(reasonOf(*saver, thread) == "in_flight");
                    const auto outcome = driver.run(app, sg::RESUME, config(thread));
                    REQUIRE(outcome.what() == "");
                    log.take();
                    return outcome.values;
                };
                const sg::Config stored = submit(way, app, bar("i"), config(thread));
                CHECK(app.getState({.thread_id = thread}).config == stored);
                CHECK((app.getState({.thread_id = thread}).source == sg::Source::input));
                CHECK(takes() == first.values);
                CHECK(submit(way, app, sg::resume("yes"), config(thread)) ==
                      app.getState({.thread_id = thread}).config);
                CHECK(takes() == second.values);
                submit(way, app, bar("j"), config(thread));
                CHECK(takes() == third.values);
                CHECK(differences(rowsOf(*saver, thread), rowsOf(*saver, invoked)) == "");
                saver->deleteThread(thread);
            }
        }
    });
}

TEST_CASE("submitted Commands: update, goto, and answers with an update") {
    onSavers([](const Saver& saver) {
        Log log;
        const App app = wholeApp(saver, log);
        const std::map<std::string, std::function<Command()>> commands = {
            {"goto", [] { return Command{.go_to = {"aside"}}; }},
            {"update and goto", [] { return Command{.update = bar("u"), .go_to = {"aside"}}; }},
            {"answer and update", [] { return Command{.resume = "yes", .update = bar("u")}; }},
            {"update", [] { return Command{.update = bar("u")}; }}};
        for (const auto& [name, command] : commands) {
            CAPTURE(name);
            for (const std::string thread : {"run", "stored"})
                app.invoke(bar("i"), {.thread_id = name + thread, .max_concurrency = 1});
            const auto by_run = app.invoke(command(), {.thread_id = name + "run", .max_concurrency = 1});
            app.submit(command(), {.thread_id = name + "stored"});
            const auto by_store = app.invoke(sg::RESUME, {.thread_id = name + "stored", .max_concurrency = 1});
            CHECK(by_store.values == by_run.values);
            CHECK((by_store.status == by_run.status));
            CHECK(differences(rowsOf(*saver, name + "stored"), rowsOf(*saver, name + "run")) == "");
        }
    });
}

TEST_CASE("recover takes what was submitted, by another program too, with any durability") {
    for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
        savers::onEach([&](savers::Store& store) {
            Log log;
            {
                const App app = wholeApp(store.open(), log);
                app.submit(bar("i"), {.thread_id = "t", .durability = durability});
            }
            CHECK(log.entries().empty());
            const App app = wholeApp(store.open(), log);
            const auto report = app.recover();
            REQUIRE(report.size() == 1);
            CHECK((report[0].status == sg::Status::interrupted));
            CHECK(log.count("joined") == 1);
        });
    }
}

TEST_CASE("an input branches off at a checkpoint, and a Command to one is refused") {
    onSavers([](const Saver& saver) {
        Log log;
        const App app = wholeApp(saver, log);
        for (const std::string thread : {"run", "stored"})
            app.invoke(bar("i"), {.thread_id = thread, .max_concurrency = 1});
        sg::CheckpointId past;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "run"})) {
            if (snapshot.step == 2) past = snapshot.config.checkpoint_id;
        }
        app.invoke(bar("j"), {.thread_id = "run", .checkpoint_id = past, .max_concurrency = 1});
        app.submit(bar("j"), {.thread_id = "stored", .checkpoint_id = past});
        app.invoke(sg::RESUME, {.thread_id = "stored", .max_concurrency = 1});
        CHECK(differences(rowsOf(*saver, "stored"), rowsOf(*saver, "run")) == "");
        const Rows before = rowsOf(*saver, "run");
        const auto error = thrown<sg::InvalidArgumentError>(
            [&] { app.submit(sg::resume("yes"), {.thread_id = "run", .checkpoint_id = past}); });
        CHECK(contains(error.what(), "fork that checkpoint first"));
        CHECK(differences(rowsOf(*saver, "run"), before) == "");
    });
}

TEST_CASE("what invoke refuses at its beginning submit refuses, and stores nothing") {
    Log log;
    const Saver saver = std::make_shared<sg::MemorySaver>();
    const App app = wholeApp(saver, log);
    CHECK_THROWS_AS(app.submit(bar("i"), {}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(app.submit(sg::resume("yes"), {.thread_id = "t"}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(app.submit(Command{}, {.thread_id = "t"}), sg::EmptyInputError);
    CHECK_THROWS_AS(app.submit(Command{.go_to = {"nowhere"}}, {.thread_id = "t"}), sg::InvalidUpdateError);
    CHECK_THROWS_AS(sg::syncWait(app.asyncSubmit(Command{}, {.thread_id = "t"})), sg::EmptyInputError);
    CHECK(saver->list({}).empty());
    const App without = wholeApp(nullptr, log);
    CHECK_THROWS_AS(without.submit(bar("i"), {.thread_id = "t"}), sg::MissingCheckpointerError);
}

TEST_CASE("subscribers and observers are notified of the run that takes an input, and not of its storing") {
    struct Counting final : sg::Observer {
        int runs = 0;
        void runStarts(const sg::RunStart&) override { ++runs; }
    };
    const auto observer = std::make_shared<Counting>();
    Graph graph;
    graph.addNode("a", appends("a")).addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .observer = observer});
    sg::StreamHub hub(app);
    app.submit(bar("i"), {.thread_id = "t", .hub = &hub});
    CHECK(observer->runs == 0);
    app.invoke(sg::RESUME, {.thread_id = "t", .hub = &hub});
    CHECK(observer->runs == 1);
}

TEST_CASE("a saver that fails at any of its calls has the input or not") {
    Log log;
    const App undisturbed = wholeApp(std::make_shared<sg::MemorySaver>(), log);
    undisturbed.invoke(bar("i"), {.thread_id = "t", .max_concurrency = 1});
    const Strings expected = undisturbed.invoke(bar("j"), {.thread_id = "t", .max_concurrency = 1}).values.bar;
    for (const bool slow : {false, true}) {
        for (const bool after_effect : {false, true}) {
            std::size_t n = 1;
            for (bool failed = true; failed; ++n) {
                CAPTURE(n);
                REQUIRE(n < 100);
                const auto saver = std::make_shared<sg::testing::FaultSaver>(std::make_shared<sg::MemorySaver>(),
                                                                             sg::testing::FaultPlan{}, slow);
                const App app = wholeApp(saver, log);
                app.invoke(bar("i"), {.thread_id = "t", .max_concurrency = 1});
                saver->arm({.fail_at = n, .after_effect = after_effect});
                failed = false;
                try {
                    app.submit(bar("j"), {.thread_id = "t"});
                } catch (const sg::SaverError&) {
                    failed = true;
                }
                saver->disarm();
                const std::string reason = reasonOf(*saver, "t");
                CHECK((reason == "in_flight" || (failed && reason == "interrupted")));
                if (reason == "interrupted") app.submit(bar("j"), {.thread_id = "t"});
                const auto values = app.invoke(sg::RESUME, {.thread_id = "t", .max_concurrency = 1}).values;
                CHECK(values.bar == expected);
            }
            CHECK(n > 2);
        }
    }
}
