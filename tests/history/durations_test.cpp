#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>
#include <stategraph/encrypted_saver.hpp>

#include "src/checkpoint/record.hpp"
#include "tests/history/timed_graphs.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/encryption.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/moved_clock.hpp"

// How long supersteps, tasks and commits took, according to the log.
using namespace graphs;
using namespace std::chrono_literals;
using namespace timed_graphs;

TEST_CASE("the log says how long each superstep, its task and each commit took, however the run is driven") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        Timed timed;
        timed.storingTakes(40);
        Graph graph = chain(timed);
        const App app = timed.compile(graph);
        REQUIRE(driver.run(app, bar("in"), {.thread_id = "t"}).what() == "");
        const auto all = historyOf(app, {.thread_id = "t"});
        REQUIRE(all.size() == 4);
        // Input, START, a, b.
        CHECK(all[0].took == Us());
        CHECK(all[0].commit_took == 40us);
        CHECK(all[1].took == 0us);
        CHECK(all[2].took == 1500us);
        CHECK(all[2].commit_took == 40us);
        CHECK(all[3].took == 700us);
        CHECK(all[3].commit_took == Us());
        REQUIRE(all[1].tasks.size() == 1);
        CHECK(all[1].tasks[0].name == "a");
        CHECK(all[1].tasks[0].took == 1500us);
        CHECK((all[1].tasks[0].started_at == MovedClock::at(80)));
        CHECK(all[1].tasks[0].attempts == 1);
        REQUIRE(all[2].tasks.size() == 1);
        CHECK(all[2].tasks[0].took == 700us);
        CHECK((all[2].tasks[0].started_at == MovedClock::at(1620)));
    }
}

TEST_CASE("of several tasks each has its own beginning and duration") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const Timed timed;
        Graph graph = fan(timed);
        const App app = timed.compile(graph);
        REQUIRE(driver.run(app, bar("in"), {.thread_id = "t", .max_concurrency = 1}).what() == "");
        const auto all = historyOf(app, {.thread_id = "t"});
        REQUIRE(all.size() == 3);
        CHECK(all[2].took == 600us);
        const sg::TaskSnapshot& a = taskNamed(all[1], "a");
        const sg::TaskSnapshot& b = taskNamed(all[1], "b");
        const sg::TaskSnapshot& c = taskNamed(all[1], "c");
        CHECK(a.took == 100us);
        CHECK((a.started_at == MovedClock::at(0)));
        CHECK(b.took == 200us);
        CHECK((b.started_at == MovedClock::at(100)));
        CHECK(c.took == 300us);
        CHECK((c.started_at == MovedClock::at(300)));
    }
}

TEST_CASE("a task that is tried again says how often, and how long it took in all") {
    for (const bool beside : {false, true}) {
        for (const bool durations : {false, true}) {
            CAPTURE(beside);
            CAPTURE(durations);
            const Timed timed;
            Graph graph;
            graph.addNode("a",
                          [clock = timed.clock](const State&, sg::Runtime& runtime) -> Update {
                              clock->pass(1000);
                              if (runtime.attempt() < 3) throw std::runtime_error("not yet");
                              return bar("a");
                          },
                          {.retry = {.max_attempts = 3, .initial_interval = 0.1ms, .jitter = false}});
            graph.addEdge(sg::START, "a");
            if (beside) graph.addNode("b", appends("b")).addEdge(sg::START, "b");
            const App app = timed.compile(graph, {.durations = durations});
            app.invoke(bar("in"), {.thread_id = "t", .max_concurrency = 1});
            const auto all = historyOf(app, {.thread_id = "t"});
            const sg::TaskSnapshot& a = taskNamed(all[1], "a");
            CHECK(a.attempts == 3);
            CHECK(a.took == (durations ? Us(3000us) : Us()));
            CHECK(a.error.has_value() == false);
            if (beside) CHECK(taskNamed(all[1], "b").attempts == 1);
        }
    }
}

TEST_CASE("a failed task says it too, until it has succeeded") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const Timed timed;
        bool fails = true;
        Graph graph;
        graph.addNode("a",
                      [&](const State&) -> Update {
                          timed.clock->pass(fails ? 250 : 30);
                          if (fails) throw std::runtime_error("no");
                          return bar("a");
                      },
                      {.retry = {.max_attempts = 2, .initial_interval = 0.1ms, .jitter = false}});
        graph.addEdge(sg::START, "a");
        const App app = timed.compile(graph);
        CHECK(driver.run(app, bar("in"), {.thread_id = "t"}).failed());
        const auto failed = app.getState({.thread_id = "t"});
        REQUIRE(failed.tasks.size() == 1);
        CHECK(failed.tasks[0].took == 500us);
        CHECK((failed.tasks[0].started_at == MovedClock::at(0)));
        CHECK(failed.tasks[0].attempts == 2);
        CHECK(failed.took == 0us);  // START's
        fails = false;
        timed.clock->pass(60'000'000);
        REQUIRE(driver.run(app, sg::RESUME, {.thread_id = "t"}).what() == "");
        const auto all = historyOf(app, {.thread_id = "t"});
        REQUIRE(all.size() == 3);
        CHECK(all[1].tasks[0].took == 30us);
        CHECK((all[1].tasks[0].started_at == MovedClock::at(60'000'500)));
        CHECK(all[1].tasks[0].attempts == 1);
        CHECK(all[1].commit_took == Us());  // by another run
        CHECK(all[2].took == 30us);
    }
}

TEST_CASE("a task that asks stores the same whenever it asks, and with its answer how long it ran then") {
    const Timed timed;
    Graph graph;
    graph.addNode("ask", [&](const State&, sg::Runtime& runtime) -> Update {
        timed.clock->pass(10);
        const auto answer = sg::interrupt<std::string>(runtime, "what?");
        timed.clock->pass(5);
        return bar(answer);
    });
    graph.addNode("beside", timed.takes(7, "beside"));
    graph.addEdge(sg::START, "ask").addEdge(sg::START, "beside");
    const App app = timed.compile(graph);
    app.invoke(bar("in"), {.thread_id = "t", .max_concurrency = 1});
    const auto asked = app.getState({.thread_id = "t"});
    CHECK(!taskNamed(asked, "ask").took);
    CHECK(taskNamed(asked, "beside").took == 7us);
    timed.clock->pass(1000);
    const auto writes = [&] {
        return timed.saver->list({.thread_id = "t", .limit = 1, .with_writes = true})[0].writes;
    };
    const auto before = writes();
    timed.clock->pass(3);
    app.invoke(sg::RESUME, {.thread_id = "t", .max_concurrency = 1});
    const auto after = writes();
    REQUIRE(after.size() == before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        CHECK(after[i].path == before[i].path);
        CHECK(after[i].bytes == before[i].bytes);
    }
    app.invoke(sg::resume("yes"), {.thread_id = "t", .max_concurrency = 1});
    const auto all = historyOf(app, {.thread_id = "t"});
    const sg::TaskSnapshot& ask = taskNamed(all[1], "ask");
    CHECK(ask.took == 15us);
    CHECK((ask.started_at == MovedClock::at(1030)));
    CHECK(taskNamed(all[1], "beside").took == 7us);  // by the run before
    CHECK((taskNamed(all[1], "beside").started_at == MovedClock::at(10)));
    CHECK(all[2].took == 15us);
}

TEST_CASE("a subgraph's task took as long as the run inside, whose log has its own times") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        Timed timed;
        timed.storingTakes(40);
        Graph inner = chain(timed);
        Graph graph;
        graph.addNode("first", timed.takes(11, "first")).addNode("sub", inner.compile());
        graph.addEdge(sg::START, "first").addEdge("first", "sub");
        const App app = timed.compile(graph);
        REQUIRE(driver.run(app, bar("in"), {.thread_id = "t"}).what() == "");
        const auto all = historyOf(app, {.thread_id = "t"});
        REQUIRE(all.size() == 4);
        const sg::TaskSnapshot& sub = all[2].tasks.at(0);
        CHECK(sub.took == 2360us);  // with four commits inside
        CHECK((sub.started_at == MovedClock::at(131)));
        const auto inside = historyOf(app, {.thread_id = "t", .checkpoint_ns = "sub:" + sub.id.toString()});
        REQUIRE(inside.size() == 4);
        CHECK(inside[1].tasks.at(0).took == 1500us);
        CHECK((inside[1].tasks.at(0).started_at == MovedClock::at(211)));
        CHECK(inside[3].took == 700us);
        CHECK(inside[2].commit_took == 40us);
    }
}

TEST_CASE("a task whose result is from the cache took as long as that") {
    const Timed timed;
    Graph graph;
    graph.addNode("a", timed.takes(900, "a"), {.cache = {}}).addEdge(sg::START, "a");
    const App app = timed.compile(graph, {.cache = std::make_shared<sg::MemoryCache>()});
    app.invoke(bar("in"), {.thread_id = "1"});
    app.invoke(bar("in"), {.thread_id = "2"});
    CHECK(historyOf(app, {.thread_id = "1"})[1].tasks[0].took == 900us);
    CHECK(historyOf(app, {.thread_id = "2"})[1].tasks[0].took == 0us);
}

TEST_CASE("with exit durability a commit has the sum of its supersteps, and nothing of their tasks") {
    const Timed timed;
    Graph graph = chain(timed);
    const App app = timed.compile(graph);
    app.invoke(bar("in"), {.thread_id = "t", .durability = sg::Durability::exit});
    const auto all = historyOf(app, {.thread_id = "t"});
    REQUIRE(all.size() == 1);
    CHECK(all[0].took == 2200us);
    CHECK(all[0].commit_took == Us());
}

TEST_CASE("the time of a reader of events is nobody's") {
    for (const auto durability : {sg::Durability::async, sg::Durability::exit}) {
        const Timed timed;
        Graph graph = chain(timed);
        const App app = timed.compile(graph);
        for ([[maybe_unused]] const auto& event :
             app.stream(bar("in"), {.thread_id = "t", .durability = durability}, {.modes = sg::StreamMode::values})) {
            timed.clock->pass(5'000'000);
        }
        const auto all = historyOf(app, {.thread_id = "t"});
        if (durability == sg::Durability::exit) {
            CHECK(all.back().took == 2200us);
        } else {
            REQUIRE(all.size() == 4);
            CHECK(all[2].took == 1500us);
            CHECK(all[3].took == 700us);
        }
    }
}

TEST_CASE("a snapshot as JSON has durations in microseconds and beginnings as times") {
    const Timed timed;
    Graph graph = chain(timed);
    const App app = timed.compile(graph);
    timed.clock->pass(123'456);
    app.invoke(bar("in"), {.thread_id = "t"});
    const auto all = historyOf(app, {.thread_id = "t"});
    const std::string json = toJson(all[1]);
    CHECK(json.find(R"("started_at":"2023-11-14T22:13:20.123456Z","took_us":1500)") != std::string::npos);
    CHECK(json.find(R"("took_us":0,"commit_took_us":0})") != std::string::npos);
    CHECK(json.find("attempts") == std::string::npos);
    CHECK(all[1].createdAt() == "2023-11-14T22:13:20.123Z");
}

TEST_CASE("durations are sealed with the rest of a record, and stay where a prune writes a commit anew") {
    for (const bool is_sealed : {false, true}) {
        CAPTURE(is_sealed);
        const Timed timed;
        const auto inside = std::make_shared<sg::MemorySaver>();
        std::shared_ptr<sg::BaseCheckpointSaver> saver = inside;
        if (is_sealed) saver = std::make_shared<sg::EncryptedSaver>(inside, encryption::key("k"));
        Graph graph = chain(timed);
        const App app = graph.compile({.checkpointer = saver, .ids = timed.clock});
        app.invoke(bar("in"), {.thread_id = "t"});
        const std::string record(inside->getTuple({.log = {"t", ""}})->commits.back().bytes);
        CHECK((record.find("took") == std::string::npos) == is_sealed);
        CHECK(historyOf(app, {.thread_id = "t"}).at(3).took == 700us);
        CHECK(saver->prune({.thread_id = "t", .keep_last = 2}) == 2);
        const auto kept = historyOf(app, {.thread_id = "t"});
        REQUIRE(kept.size() == 2);
        CHECK(kept[0].took == 1500us);
        CHECK(kept[0].tasks.at(0).took == 700us);
        CHECK(kept[1].took == 700us);
    }
}
