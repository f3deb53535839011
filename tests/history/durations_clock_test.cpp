#include <chrono>
#include <limits>
#include <mutex>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "src/checkpoint/record.hpp"
#include "tests/history/timed_graphs.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/moved_clock.hpp"

// From which clock durations are read, how often, and which readings of that clock must not be stored.
using namespace graphs;
using namespace std::chrono_literals;
using namespace timed_graphs;

TEST_CASE("durations do not depend on the wall clock, which the ids follow") {
    const Timed timed;
    Graph graph;
    graph.addNode("a", [&](const State&) -> Update {
        timed.clock->pass(2'000'000);
        timed.clock->setWall(-3'600'000'000);
        return bar("a");
    });
    graph.addNode("b", timed.takes(700, "b"));
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    const App app = timed.compile(graph);
    app.invoke(bar("in"), {.thread_id = "t"});
    const auto all = historyOf(app, {.thread_id = "t"});
    REQUIRE(all.size() == 4);
    CHECK(all[2].took == 2s);
    CHECK(all[3].took == 700us);
    CHECK(all[3].config.checkpoint_id > all[2].config.checkpoint_id);
    app.invoke(bar("in"), {.thread_id = "new"});
    CHECK((app.getState({.thread_id = "new"}).created_at < MovedClock::at(0)));
}

TEST_CASE("nothing is measured that the log is not to say") {
    SUBCASE("durations = false") {
        const Timed timed;
        Graph graph = chain(timed);
        const App app = timed.compile(graph, {.durations = false});
        const std::size_t before = timed.clock->steady_readings;
        app.invoke(bar("in"), {.thread_id = "t"});
        CHECK(timed.clock->steady_readings == before);
        for (const auto& snapshot : historyOf(app, {.thread_id = "t"})) {
            CHECK(snapshot.took == Us());
            CHECK(snapshot.commit_took == Us());
            for (const auto& task : snapshot.tasks) CHECK(task.took == Us());
            CHECK(toJson(snapshot).find("took_us") == std::string::npos);
            CHECK(toJson(snapshot).find("started_at") == std::string::npos);
        }
    }
    SUBCASE("ids whose source has no steady clock") {
        Timed timed;
        Graph graph = fan(timed);
        const App app = graph.compile({.checkpointer = timed.saver, .ids = FixedIds::make()});
        std::string records;
        std::mutex mutex;  // tasks of a superstep store at the same time
        timed.saver->after_put = [&](const sg::PutRequest& request) {
            const std::lock_guard lock(mutex);
            for (const auto& row : request.commits) records += row.bytes;
            for (const auto& row : request.writes) records += row.bytes;
        };
        app.invoke(bar("in"), {.thread_id = "t"});
        CHECK(records.find("pull") == std::string::npos);
        CHECK(records.find("bar") != std::string::npos);
        CHECK(records.find("took") == std::string::npos);
        CHECK(records.find("attempts") == std::string::npos);
    }
    SUBCASE("no saver") {
        const Timed timed;
        Graph graph = chain(timed);
        const App app = graph.compile({.ids = timed.clock});
        const std::size_t before = timed.clock->steady_readings;
        app.invoke(bar("in"));
        CHECK(timed.clock->steady_readings == before);
    }
}

TEST_CASE("a chain reads clocks twice a superstep, and with exit durability once") {
    for (const auto durability : {sg::Durability::async, sg::Durability::exit}) {
        const Timed timed;
        Graph graph;
        graph.addNode("n", [](const State&) -> Update { return {sg::add(&State::n, 1)}; }).addEdge(sg::START, "n");
        graph.addConditionalEdges("n", [](const State& s) -> std::string { return s.n < 1000 ? "n" : sg::END; });
        const App app = timed.compile(graph);
        const std::size_t steady = timed.clock->steady_readings;
        const std::size_t wall = timed.clock->wall_readings;
        app.invoke(Update{sg::set(&State::foo, "x")},
                   {.thread_id = "t", .durability = durability, .recursion_limit = 1001});
        CHECK(timed.clock->steady_readings - steady <= (durability == sg::Durability::exit ? 1010 : 2010));
        CHECK(timed.clock->wall_readings - wall <= 2);
    }
}

TEST_CASE("durations that no clock can have are shown as the longest, and begin no earlier than time does") {
    namespace cp = sg::checkpoint;
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
    const App app = graph.compile({.checkpointer = saver, .interrupt_before = {"b"}});
    const auto begun = app.invoke(bar("in"), {.thread_id = "t"});
    const sg::CheckpointId at = begun.config.checkpoint_id;
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    constexpr auto most_signed = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t start : {-most_signed - 1, most_signed}) {
        cp::TaskFields task{.node = "b",
                            .error = "no",
                            .took = cp::LoggedTaskTime{.start_us = start, .took_us = most_signed},
                            .attempts = most};
        std::string bytes;
        cp::writeTask(at, task, bytes);
        const sg::WriteRow row{at, "pull:b", bytes};
        saver->putWrites({"t", ""}, at, {&row, 1}, false);
        const sg::TaskSnapshot b = app.getState({.thread_id = "t"}).tasks.at(0);
        CHECK(b.took == std::chrono::milliseconds(3'155'760'000'000));
        CHECK((*b.started_at > MovedClock::at(0)) == (start > 0));
        CHECK(b.attempts == most);
        CHECK(toJson(app.getState({.thread_id = "t"})).find("18446744073709551615") != std::string::npos);
    }
    cp::CommitFields commit;
    commit.id = sg::CheckpointId(at.high() + (1U << 16U), at.low());
    commit.parent = commit.base = at;
    commit.step = 2;
    commit.took = cp::LoggedTook{.superstep_us = most, .commit_us = most};
    std::string bytes;
    cp::writeCommit(commit, bytes);
    const sg::CommitRow row{commit.id, at, at, bytes};
    saver->put({.log = {"t", ""}, .expected_head = at, .commits = {&row, 1}, .writes = {}});
    const auto all = historyOf(app, {.thread_id = "t"});
    CHECK(all.back().took == std::chrono::milliseconds(3'155'760'000'000));
    CHECK(all[all.size() - 2].commit_took == std::chrono::milliseconds(3'155'760'000'000));
    CHECK((all[all.size() - 2].tasks.at(0).started_at < MovedClock::at(0)));
}
