#include <atomic>
#include <set>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/recording_saver.hpp"

// What is stored, and when.
using namespace graphs;
using Recorder = std::shared_ptr<RecordingSaver>;

namespace {

// START -> a -> b; each node logs what was stored when it ran.
App chain(const Recorder& saver, std::vector<Strings>& seen) {
    Graph graph;
    for (const char* name : {"a", "b"}) {
        graph.addNode(name, [&seen, saver, name](const State&) -> Update {
            seen.push_back(saver->lines());
            return bar(name);
        });
    }
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    return graph.compile({.checkpointer = saver});
}

App parallel(Log& log, const Recorder& saver, std::atomic<bool>& fails) {
    Graph graph;
    graph.addNode("ok", appends(log, "ok")).addNode("ask", asks(log, "ask"));
    graph.addNode("bad", [&fails](const State&) -> Update {
        if (fails) throw std::runtime_error("broken");
        return bar("bad");
    });
    for (const char* name : {"ask", "bad", "ok"}) graph.addEdge(sg::START, name);
    return graph.compile({.checkpointer = saver});
}

const Strings all_commits = {"commit -1 input", "commit 0 loop", "commit 1 loop", "commit 2 loop"};

}  // namespace

TEST_CASE("sync: each superstep is on disk before the next one begins") {
    for (const bool is_slow : {false, true}) {
        const auto saver = std::make_shared<RecordingSaver>();
        saver->is_slow = is_slow;
        std::vector<Strings> seen;
        chain(saver, seen).invoke(Update{}, {.thread_id = "t", .durability = sg::Durability::sync});
        Strings synced;
        for (const auto& line : all_commits) synced.push_back(line + " fsync");
        CHECK(saver->lines() == synced);
        CHECK(seen.at(0) == Strings(synced.begin(), synced.begin() + 2));
        CHECK(seen.at(1) == Strings(synced.begin(), synced.begin() + 3));
    }
}

TEST_CASE("what reaches the saver, and when, is the same however a run is driven") {
    for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
        const auto expected = std::make_shared<RecordingSaver>();
        std::vector<Strings> expected_seen;
        chain(expected, expected_seen).invoke(Update{}, {.thread_id = "t", .durability = durability});
        for (const drivers::Driver& driver : drivers::crossed()) {
            CAPTURE(driver.name);
            const auto saver = std::make_shared<RecordingSaver>();
            std::vector<Strings> seen;
            const auto outcome = driver.run(chain(saver, seen), Update{}, {.thread_id = "t", .durability = durability});
            REQUIRE(outcome.what() == "");
            CHECK(saver->lines() == expected->lines());
            CHECK(seen == expected_seen);
        }
    }
}

TEST_CASE("async: one write a superstep and no fsync") {
    const auto saver = std::make_shared<RecordingSaver>();
    std::vector<Strings> seen;
    chain(saver, seen).invoke(Update{}, {.thread_id = "t"});
    CHECK(saver->lines() == all_commits);
    CHECK(saver->reads() == 1);
}

TEST_CASE(
    "async on a slow saver: the input is stored before the first node runs, order is kept, all is there at the end") {
    const auto saver = std::make_shared<RecordingSaver>();
    saver->is_slow = true;
    saver->delay = std::chrono::milliseconds(3);
    std::vector<Strings> seen;
    chain(saver, seen).invoke(Update{}, {.thread_id = "t"});
    CHECK(saver->lines() == all_commits);
    REQUIRE_FALSE(seen.at(0).empty());
    CHECK(seen[0][0] == "commit -1 input");
    // At most one superstep is being stored.
    CHECK(seen[0].size() >= 1);
    CHECK(seen[1].size() >= 2);
}

TEST_CASE("async on a slow saver: the next superstep runs while the last one is stored") {
    const auto saver = std::make_shared<RecordingSaver>();
    saver->is_slow = true;
    Signal b_runs;
    saver->before_put = [&](std::size_t number) {
        if (number == 2 && !b_runs.await()) throw std::runtime_error("b never ran beside the put");
    };
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", [&](const State&) -> Update {
        b_runs.give();
        return bar("b");
    });
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    CHECK(graph.compile({.checkpointer = saver}).invoke(Update{}, {.thread_id = "t"}).values.bar == Strings{"a", "b"});
}

TEST_CASE("a task's record is written as it finishes, and only where a superstep has several") {
    Log log;
    const auto saver = std::make_shared<RecordingSaver>();
    Graph graph;
    for (const char* name : {"a", "b"}) graph.addNode(name, appends(name)).addEdge(sg::START, name);
    graph.addNode("c", appends("c")).addEdge(std::vector<std::string>{"a", "b"}, "c");
    const App app = graph.compile({.checkpointer = saver});
    app.invoke(Update{}, {.thread_id = "t", .max_concurrency = 1});
    CHECK(saver->takeLines() == Strings{"commit -1 input", "commit 0 loop", "write pull:a", "write pull:b",
                                        "commit 1 loop", "commit 2 loop"});
    app.invoke(Update{}, {.thread_id = "t", .durability = sg::Durability::sync, .max_concurrency = 1});
    CHECK(saver->takeLines() == Strings{"commit 3 input fsync", "commit 4 loop fsync", "write pull:a fsync",
                                        "write pull:b fsync", "commit 5 loop fsync", "commit 6 loop fsync"});
}

TEST_CASE("exit: one commit at the end, and steps keep counting") {
    const auto saver = std::make_shared<RecordingSaver>();
    std::vector<Strings> seen;
    const App app = chain(saver, seen);
    const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::exit};
    const auto first = app.invoke(bar("i"), config);
    CHECK(seen == std::vector<Strings>(2));
    CHECK(saver->takeLines() == Strings{"commit 2 loop"});
    app.invoke(bar("j"), config);
    CHECK(saver->takeLines() == Strings{"commit 6 loop"});
    const auto state = app.getState({.thread_id = "t"});
    CHECK(state.values.bar == Strings{"i", "a", "b", "j", "a", "b"});
    REQUIRE(state.parent_config);
    CHECK(state.parent_config->checkpoint_id == first.config.checkpoint_id);
    app.invoke(bar("k"), {.thread_id = "t"});
    CHECK(app.getState({.thread_id = "t"}).values.bar.size() == 9);
}

TEST_CASE("exit: at a failure or an interrupt one write holds the commit and what the tasks left") {
    Log log;
    std::atomic<bool> fails{true};
    const auto saver = std::make_shared<RecordingSaver>();
    const App app = parallel(log, saver, fails);
    const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::exit, .max_concurrency = 1};
    CHECK_THROWS_AS(app.invoke(bar("i"), config), sg::NodeError);
    CHECK(saver->takeLines() == Strings{"commit 0 loop write pull:ask write pull:bad write pull:ok"});
    CHECK_THROWS_AS(app.invoke(sg::RESUME, config), sg::NodeError);
    CHECK(saver->takeLines() == Strings{"write pull:ask write pull:bad write run"});
    fails = false;
    CHECK((app.invoke(sg::RESUME, config).status == sg::Status::interrupted));
    CHECK(app.invoke(sg::Command<>{.resume = "A"}, config).values.bar == Strings{"i", "ask:A", "bad", "ok"});
    CHECK(saver->lines().back() == "commit 1 loop write pull:ask");  // history contains the answer
    CHECK(log.count("ok") == 1);
}

TEST_CASE("exit: at a breakpoint and at the recursion limit the last superstep is stored") {
    const auto saver = std::make_shared<RecordingSaver>();
    std::vector<Strings> seen;
    const App app = chain(saver, seen);
    app.invoke(Update{}, {.thread_id = "t", .durability = sg::Durability::exit, .interrupt_before = {"b"}});
    CHECK(saver->takeLines() == Strings{"commit 1 loop write run"});
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "u", .durability = sg::Durability::exit, .recursion_limit = 1}),
                    sg::GraphRecursionError);
    CHECK(saver->takeLines() == Strings{"commit 1 loop write run"});
}

TEST_CASE("a saver that fails makes the run fail, and the thread continues from what it stored") {
    for (const bool is_slow : {false, true}) {
        for (const auto durability : {sg::Durability::async, sg::Durability::sync}) {
            for (std::size_t failing = 0; failing < 4; ++failing) {
                CAPTURE(failing);
                const auto saver = std::make_shared<RecordingSaver>();
                saver->is_slow = is_slow;
                bool broken = true;
                saver->before_put = [&](std::size_t number) {
                    if (broken && number == failing) throw sg::SaverError("the disk is full");
                };
                std::vector<Strings> seen;
                const App app = chain(saver, seen);
                CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t", .durability = durability}), sg::SaverError);
                CHECK(saver->lines().size() == failing);  // nothing is stored after the gap
                broken = false;
                if (failing == 0) continue;
                CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"i", "a", "b"});
            }
        }
    }
}

TEST_CASE("a commit that failed in the background is what the run reports, whichever task meets it first") {
    for (int round = 0; round < 30; ++round) {
        const auto saver = std::make_shared<RecordingSaver>();
        saver->is_slow = true;
        saver->before_put = [](std::size_t number) {
            if (number == 1) throw sg::SaverError("the disk is full");
        };
        Graph graph;
        for (const char* name : {"a", "b", "c"}) graph.addNode(name, appends(name)).addEdge(sg::START, name);
        const App app = graph.compile({.checkpointer = saver});
        CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::SaverError);
        CHECK(saver->lines() == Strings{"commit -1 input"});
    }
}

TEST_CASE("a record that cannot be stored makes the run fail") {
    Log log;
    std::atomic<bool> fails{false};
    const auto saver = std::make_shared<RecordingSaver>();
    const App app = parallel(log, saver, fails);
    saver->before_put = [](std::size_t number) {
        if (number >= 2) throw sg::SaverError("the disk is full");
    };
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::SaverError);
    CHECK(saver->lines() == Strings{"commit -1 input", "commit 0 loop"});
}

TEST_CASE("a second writer of the thread makes the first one fail, and nothing forks") {
    for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
        const auto saver = std::make_shared<RecordingSaver>();
        std::optional<App> app;
        Graph graph;
        graph.addNode("a", [&app](const State& state) -> Update {
            if (state.foo == "outer") app->invoke({sg::set(&State::foo, "inner")}, {.thread_id = "t"});
            return bar(state.foo);
        });
        graph.addEdge(sg::START, "a");
        app = graph.compile({.checkpointer = saver});
        const sg::RunConfig config{.thread_id = "t", .durability = durability};
        const auto call = [&] { app->invoke({sg::set(&State::foo, "outer")}, config); };
        bool refused = false;
        try {
            call();
        } catch (const sg::ConcurrentUpdateError& error) {
            refused = true;
            CHECK(error.context().thread_id == "t");
        } catch (const sg::NodeError&) {
            refused = true;  // the inner run was refused, because the thread was busy
        }
        CHECK(refused);
        std::set<std::string> parents;
        for (const auto& snapshot : app->getStateHistory({.thread_id = "t"})) {
            const std::string parent = snapshot.parent_config ? snapshot.parent_config->checkpoint_id.toString() : "";
            CHECK(parents.insert(parent).second);
        }
        app = std::nullopt;
    }
}

TEST_CASE("without a saver nothing is stored and a thread is not needed") {
    Graph graph;
    graph.addNode("a", appends("a")).addEdge(sg::START, "a");
    const auto result = graph.compile().invoke(Update{});
    CHECK(result.values.bar == Strings{"a"});
    CHECK(result.config.checkpoint_id.empty());
    CHECK_THROWS_AS(graph.compile().getState({.thread_id = "t"}), sg::MissingCheckpointerError);
}
