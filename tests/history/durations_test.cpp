#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>
#include <stategraph/codec_std.hpp>
#include <stategraph/encrypted_saver.hpp>

#include "checkpoint/record.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/encryption.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/moved_clock.hpp"
#include "tests/support/recording_saver.hpp"

// How long supersteps, tasks and commits took, by the log.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

using Us = std::optional<std::chrono::microseconds>;

struct Timed {
    std::shared_ptr<MovedClock> clock = MovedClock::make();
    std::shared_ptr<RecordingSaver> saver = std::make_shared<RecordingSaver>();

    /// A node that takes so many microseconds, and appends its name.
    auto takes(std::int64_t us, std::string name) const {
        return [clock = clock, us, name](const State&) -> Update {
            clock->pass(us);
            return {sg::add(&State::bar, name)};
        };
    }
    /// Storing a commit takes so many.
    void storingTakes(std::int64_t us) {
        saver->after_put = [clock = clock, us](const sg::PutRequest& request) {
            if (!request.commits.empty()) clock->pass(us);
        };
    }
    App compile(Graph& graph, sg::CompileOptions options = {}) const {
        options.checkpointer = saver;
        options.ids = clock;
        return graph.compile(options);
    }
};

/// Without values, oldest first.
std::vector<sg::StateSnapshot<State>> historyOf(const App& app, const sg::Config& config) {
    std::vector<sg::StateSnapshot<State>> all;
    for (const auto& snapshot : app.getStateHistory(config, {.values = false})) all.push_back(snapshot);
    std::reverse(all.begin(), all.end());
    return all;
}

Graph chain(const Timed& timed) {
    Graph graph;
    graph.addNode("a", timed.takes(1500, "a")).addNode("b", timed.takes(700, "b"));
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    return graph;
}

Graph fan(const Timed& timed) {
    Graph graph;
    graph.addNode("a", timed.takes(100, "a")).addNode("b", timed.takes(200, "b")).addNode("c", timed.takes(300, "c"));
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge(sg::START, "c");
    return graph;
}

const sg::TaskSnapshot& taskNamed(const sg::SnapshotData& snapshot, const std::string& name) {
    const auto found = std::find_if(snapshot.tasks.begin(), snapshot.tasks.end(),
                                    [&](const sg::TaskSnapshot& task) { return task.name == name; });
    REQUIRE(found != snapshot.tasks.end());
    return *found;
}

}  // namespace

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
        timed.saver->after_put = [&](const sg::PutRequest& request) {
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
        const std::string record = inside->getTuple({.log = {"t", ""}})->commits.back().bytes;
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
