#include <chrono>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>
#include <stategraph/id_source.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Threads that sleep until a given time.
using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;

namespace {

/// A clock that the test sets.
class Clock final : public sg::IdSource {
public:
    std::chrono::system_clock::time_point time{1'700'000'000s};
    std::chrono::system_clock::time_point now() override { return time; }
    std::uint64_t uniqueBits() override { return ++bits_; }

private:
    std::uint64_t bits_ = 0;
};

struct World {
    std::shared_ptr<Clock> clock = std::make_shared<Clock>();
    Log log;

    // a -> nap -> b, where each call of nap names another time.
    Graph graph() {
        Graph graph;
        graph.addNode("a", appends(log, "a")).addNode("b", appends(log, "b"));
        graph.addNode("nap", [this](const State&, sg::Runtime& rt) -> Update {
            log.add("nap");
            rt.sleepUntil(clock->time + 1000ms);
            return bar("woke");
        });
        graph.addEdge(sg::START, "a").addEdge("a", "nap").addEdge("nap", "b");
        return graph;
    }
};

const sg::Config thread_t{.thread_id = "t"};

}  // namespace

TEST_CASE("a node that sleeps parks its thread until the time of its first call") {
    savers::onEach([](savers::Store& store) {
        World world;
        const auto start = world.clock->time;
        {
            auto saver = store.open();
            const auto app = world.graph().compile({.checkpointer = saver, .ids = world.clock});
            const auto result = app.invoke({}, thread_t);
            CHECK((result.status == Status::sleeping));
            CHECK(result.wake_at == start + 1000ms);
            CHECK(result.values.bar == Strings{"a"});
        }
        auto saver = store.open();  // stands for another process
        const auto app = world.graph().compile({.checkpointer = saver, .ids = world.clock});
        world.clock->time += 999ms;
        const auto sleepers = saver->unfinishedThreads({.reason = Status::sleeping});
        REQUIRE(sleepers.size() == 1);
        CHECK(sleepers.front().wake_at == start + 1000ms);
        CHECK(app.recover().empty());
        world.clock->time += 1ms;
        const auto report = app.recover();
        REQUIRE(report.size() == 1);
        CHECK((report.front().status == Status::done));
        CHECK(app.getState(thread_t).values.bar == Strings{"a", "woke", "b"});
        CHECK(world.log.take() == Strings{"a", "nap", "nap", "b"});
        CHECK(saver->unfinishedThreads().empty());
    });
}

TEST_CASE("a sleeper that is resumed too early sleeps on until the same time") {
    auto saver = std::make_shared<sg::MemorySaver>();
    World world;
    const auto app = world.graph().compile({.checkpointer = saver, .ids = world.clock});
    const auto wake = app.invoke({}, thread_t).wake_at;
    world.clock->time += 500ms;
    const auto early = app.invoke(sg::RESUME, thread_t);
    CHECK((early.status == Status::sleeping));
    CHECK(early.wake_at == wake);
    world.clock->time += 500ms;
    CHECK((app.invoke(sg::RESUME, thread_t).status == Status::done));
}

TEST_CASE(
    "siblings of a sleeper finish and are not run again; the earliest time counts; sleeps inside subgraphs count too") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        auto clock = std::make_shared<Clock>();
        const auto start = clock->time;
        Log log;
        const auto naps = [&log, start](std::string name, int ms) {
            return [&log, name, start, ms](const State&, sg::Runtime& rt) -> Update {
                log.add(name);
                rt.sleepUntil(start + std::chrono::milliseconds(ms));
                return bar(name);
            };
        };
        Graph inner;
        inner.addNode("x", naps("x", 50)).addEdge(sg::START, "x");
        Graph graph;
        graph.addNode("quick", appends(log, "quick")).addNode("nap", naps("nap", 70)).addNode("sub", inner.compile());
        for (const char* name : {"quick", "nap", "sub"}) graph.addEdge(sg::START, name);
        const auto app = graph.compile({.checkpointer = saver, .ids = clock});
        for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
            clock->time = start;
            sg::RunConfig config;
            config.thread_id = "t" + std::to_string(static_cast<int>(durability));
            config.durability = durability;
            log.take();
            const auto result = app.invoke({}, config);
            CHECK((result.status == Status::sleeping));
            CHECK(result.wake_at == start + 50ms);
            clock->time = start + 60ms;
            const auto next = app.invoke(sg::RESUME, config);
            CHECK((next.status == Status::sleeping));
            CHECK(next.wake_at == start + 70ms);
            clock->time = start + 70ms;
            CHECK((app.invoke(sg::RESUME, config).status == Status::done));
            CHECK(log.count("quick") == 1);
            CHECK(log.count("nap") == 3);
            CHECK(log.count("x") == 2);
        }
    });
}

TEST_CASE("several sleeps of a node have names of their own, and bad ones are refused") {
    auto saver = std::make_shared<sg::MemorySaver>();
    auto clock = std::make_shared<Clock>();
    Graph graph;
    graph.addNode("naps", [clock](const State&, sg::Runtime& rt) -> Update {
        rt.sleepUntil(clock->time + 10ms, "first");
        rt.sleepUntil(clock->time + 10ms, "second");
        return bar("awake");
    });
    graph.addNode("bad", [](const State&, sg::Runtime& rt) -> Update {
        rt.sleepUntil({}, "");
        return {};
    });
    graph.addEdge(sg::START, "naps").addEdge("naps", "bad");
    const auto app = graph.compile({.checkpointer = saver, .ids = clock});
    CHECK((app.invoke({}, thread_t).status == Status::sleeping));
    clock->time += 10ms;
    CHECK((app.invoke(sg::RESUME, thread_t).status == Status::sleeping));
    clock->time += 10ms;
    CHECK_THROWS_WITH_AS(app.invoke(sg::RESUME, thread_t), doctest::Contains("with a key of 0 bytes"), sg::NodeError);

    Graph bare;
    bare.addNode("nap",
                 [](const State&, sg::Runtime& rt) -> Update {
                     rt.sleepUntil({});
                     return {};
                 })
        .addEdge(sg::START, "nap");
    CHECK_THROWS_AS(bare.compile().invoke({}), sg::MissingCheckpointerError);
}

TEST_CASE(
    "where one task asks and another sleeps the run is interrupted, and recover drives it on at the time all the "
    "same") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        auto clock = std::make_shared<Clock>();
        const auto wake_at = clock->time + 10ms;
        Log log;
        Graph graph;
        graph.addNode("asks", asks(log, "asks")).addNode("naps", [wake_at](const State&, sg::Runtime& rt) -> Update {
            rt.sleepUntil(wake_at);
            return bar("woke");
        });
        graph.addEdge(sg::START, "asks").addEdge(sg::START, "naps");
        const auto app = graph.compile({.checkpointer = saver, .ids = clock});
        const auto result = app.invoke({}, thread_t);
        CHECK((result.status == Status::interrupted));
        CHECK(result.wake_at == wake_at);
        clock->time = wake_at;
        const auto report = app.recover();
        REQUIRE(report.size() == 1);
        CHECK((report.front().status == Status::interrupted));
        CHECK(app.recover().empty());
        CHECK(app.invoke(sg::Command<>{.resume = "yes"}, thread_t).values.bar == Strings{"asks:yes", "woke"});
    });
}

TEST_CASE("a run that is stopped while one of its tasks sleeps is cancelled, and nobody wakes it") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        auto clock = std::make_shared<Clock>();
        auto control = std::make_shared<sg::RunControl>();
        const auto wake_at = clock->time + 10ms;
        Graph graph;
        graph.addNode("naps", [wake_at](const State&, sg::Runtime& rt) -> Update {
            rt.sleepUntil(wake_at);
            return bar("woke");
        });
        graph.addNode("waits", [&control, wake_at, clock](const State&, sg::Runtime& rt) -> Update {
            if (clock->time >= wake_at) return bar("waited");
            control->requestStop();
            rt.waitFor(1min);
            return {};
        });
        graph.addEdge(sg::START, "naps").addEdge(sg::START, "waits");
        const auto app = graph.compile({.checkpointer = saver, .ids = clock});
        sg::RunConfig config = thread_t;
        config.control = control;
        config.max_concurrency = 1;  // so that the sleeper runs first
        CHECK((app.invoke({}, config).status == Status::cancelled));
        clock->time = wake_at;
        CHECK(app.recover().empty());
        const auto unfinished = saver->unfinishedThreads();
        REQUIRE(unfinished.size() == 1);
        CHECK((unfinished.front().reason == Status::cancelled));
        CHECK(app.invoke(sg::RESUME, thread_t).values.bar == Strings{"woke", "waited"});
    });
}
