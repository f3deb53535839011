#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "tests/support/door.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// A thread has one writer at a time: what a second run on a busy thread receives.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

/// The graph START -> slow -> last, whose first node waits for `go`.
struct Slow {
    Signal entered;
    Signal go;
    std::atomic<int> runs{0};
    Log log;

    App app(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
        Graph graph;
        graph.addNode("slow", [this](const State& state) -> Update {
            log.add("slow:" + state.foo);
            if (runs++ == 0) {
                entered.give();
                go.await();
            }
            return bar("slow:" + state.foo);
        });
        graph.addNode("last", [](const State& state) -> Update { return bar("last:" + state.foo); });
        graph.addEdge(sg::START, "slow").addEdge("slow", "last");
        return graph.compile({.checkpointer = saver});
    }
};

/// A loop that runs until it is stopped or its run is cancelled.
struct Spinner {
    Signal spins;
    std::atomic<bool> stops{false};
    std::atomic<int> runs{0};

    Graph graph() {
        Graph graph;
        graph.addNode("spin", [this](const State&) -> Update {
            ++runs;
            spins.give();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sleeps: work that takes time
            return {sg::add(&State::n, 1)};
        });
        graph.addEdge(sg::START, "spin");
        graph.addConditionalEdges("spin", [this](const State&) { return std::string(stops ? sg::END : "spin"); });
        return graph;
    }
    static sg::RunConfig config(sg::OnBusy on_busy = sg::OnBusy::reject) {
        return {.thread_id = "t", .on_busy = on_busy, .recursion_limit = 1'000'000};
    }
};

Update foo(std::string text) { return {sg::set(&State::foo, std::move(text))}; }

}  // namespace

TEST_CASE("a second run on a busy thread is refused, and nothing of it is stored") {
    savers::onEach([](savers::Store& store) {
        Slow slow;
        const App app = slow.app(store.open());
        auto first = std::async(std::launch::async, [&] { return app.invoke(foo("1"), {.thread_id = "t"}); });
        slow.entered.await();
        CHECK_THROWS_AS(app.invoke(foo("2"), {.thread_id = "t"}), sg::ThreadBusyError);
        CHECK_THROWS_AS(app.invoke(sg::RESUME, {.thread_id = "t"}), sg::ThreadBusyError);
        CHECK_THROWS_AS(app.updateState({.thread_id = "t"}, foo("3"), {.as_node = "slow"}), sg::ThreadBusyError);
        try {
            app.invoke(foo("2"), {.thread_id = "t"});
            FAIL("it ran");
        } catch (const sg::ConcurrentUpdateError& error) {  // the exception is of both types
            CHECK((error.code() == sg::Errc::thread_busy));
            CHECK(error.context().thread_id == "t");
        }
        CHECK(app.getState({.thread_id = "t"}).values.foo == "1");  // reading is still possible
        CHECK((app.invoke(foo("other"), {.thread_id = "u"}).status == sg::Status::done));
        slow.go.give();
        CHECK(first.get().values.bar == Strings{"slow:1", "last:1"});
        CHECK((app.invoke(foo("2"), {.thread_id = "t"}).status == sg::Status::done));
    });
}

TEST_CASE("a run that waits begins when the one before it has ended") {
    Slow slow;
    const App app = slow.app(std::make_shared<sg::MemorySaver>());
    auto first = std::async(std::launch::async, [&] { return app.invoke(foo("1"), {.thread_id = "t"}); });
    slow.entered.await();
    auto second = std::async(std::launch::async,
                             [&] { return app.invoke(foo("2"), {.thread_id = "t", .on_busy = sg::OnBusy::wait}); });
    slow.go.give();
    CHECK((first.get().status == sg::Status::done));
    CHECK(second.get().values.bar == Strings{"slow:1", "last:1", "slow:2", "last:2"});
}

TEST_CASE("a run waits no longer than its deadline") {
    Slow slow;
    const App app = slow.app(std::make_shared<sg::MemorySaver>());
    auto first = std::async(std::launch::async, [&] { return app.invoke(foo("1"), {.thread_id = "t"}); });
    slow.entered.await();
    CHECK_THROWS_AS(app.invoke(foo("2"), {.thread_id = "t", .on_busy = sg::OnBusy::wait, .busy_timeout = 5ms}),
                    sg::ThreadBusyError);
    CHECK_THROWS_AS(app.invoke(foo("2"), {.thread_id = "t", .on_busy = sg::OnBusy::wait, .busy_timeout = 0ms}),
                    sg::ThreadBusyError);
    CHECK_THROWS_AS(app.invoke(foo("2"), {.thread_id = "t", .busy_timeout = -1ms}), sg::InvalidArgumentError);
    slow.go.give();
    CHECK(first.get().values.bar == Strings{"slow:1", "last:1"});
}

TEST_CASE("a run that replaces another cancels it before its next superstep and continues from there") {
    savers::onEach([](savers::Store& store) {
        Spinner spinner;
        const App app = spinner.graph().compile({.checkpointer = store.open()});
        auto first = std::async(std::launch::async, [&] { return app.invoke(foo("1"), spinner.config()); });
        REQUIRE(spinner.spins.await());
        auto second =
            std::async(std::launch::async, [&] { return app.invoke(foo("2"), spinner.config(sg::OnBusy::replace)); });
        const auto cancelled = first.get();  // only the cancellation ends it
        spinner.stops = true;
        CHECK((cancelled.status == sg::Status::cancelled));
        CHECK(cancelled.values.foo == "1");
        const auto done = second.get();
        CHECK((done.status == sg::Status::done));
        CHECK(done.values.foo == "2");
        CHECK(done.values.n > cancelled.values.n);
        CHECK(done.values.n == spinner.runs);  // no execution was lost, and none was repeated
    });
}

TEST_CASE("a cancelled run leaves its thread as it was after its last superstep, ready to continue") {
    Spinner spinner;
    const App app = spinner.graph().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    auto first = std::async(std::launch::async, [&] { return app.invoke(foo("1"), spinner.config()); });
    REQUIRE(spinner.spins.await());
    app.updateState({.thread_id = "t"}, foo("edited"), {.as_node = "spin", .on_busy = sg::OnBusy::replace});
    const auto cancelled = first.get();
    CHECK((cancelled.status == sg::Status::cancelled));
    CHECK(app.getState({.thread_id = "t"}).next == Strings{"spin"});
    CHECK(app.getState({.thread_id = "t"}).values.n == cancelled.values.n);
    spinner.stops = true;
    const auto done = app.invoke(sg::RESUME, {.thread_id = "t"});
    CHECK(done.values.foo == "edited");
    CHECK(done.values.n == cancelled.values.n + 1);
}

TEST_CASE("a run is cancelled inside a subgraph too, and continues there") {
    Spinner spinner;
    Graph outer;
    outer.addNode("child", spinner.graph().compile()).addEdge(sg::START, "child");
    const App app = outer.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    auto first = std::async(std::launch::async, [&] { return app.invoke(foo("1"), spinner.config()); });
    REQUIRE(spinner.spins.await());
    auto second =
        std::async(std::launch::async, [&] { return app.invoke(sg::RESUME, spinner.config(sg::OnBusy::replace)); });
    CHECK((first.get().status == sg::Status::cancelled));
    spinner.stops = true;
    CHECK(second.get().values.n == spinner.runs);  // the finished work of the subgraph was not repeated
}

TEST_CASE("a run that no longer waits replaces no other run") {
    Slow slow;
    const App app = slow.app(std::make_shared<sg::MemorySaver>());
    auto first = std::async(std::launch::async, [&] { return app.invoke(foo("1"), {.thread_id = "t"}); });
    slow.entered.await();
    CHECK_THROWS_AS(app.invoke(foo("2"), {.thread_id = "t", .on_busy = sg::OnBusy::replace, .busy_timeout = 5ms}),
                    sg::ThreadBusyError);
    slow.go.give();
    const auto result = first.get();
    CHECK((result.status == sg::Status::done));
    CHECK(result.values.bar == Strings{"slow:1", "last:1"});
}

TEST_CASE("runs that wait for one thread take their turns in order and lose nothing") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("count", [](const State&) -> Update { return {sg::add(&State::n, 1)}; }).addEdge(sg::START, "count");
    const App app = graph.compile({.checkpointer = saver});
    constexpr int threads = 8;
    constexpr int rounds = 50;
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
        workers.emplace_back([&] {
            for (int round = 0; round < rounds; ++round)
                app.invoke(Update{}, {.thread_id = "t", .on_busy = sg::OnBusy::wait});
        });
    }
    for (auto& worker : workers) worker.join();
    CHECK(app.getState({.thread_id = "t"}).values.n == threads * rounds);
}

TEST_CASE("a node that runs its own thread is refused instead of waiting for itself") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::optional<App> self;
    Graph graph;
    graph.addNode("again", [&](const State&) -> Update {
        CHECK_THROWS_AS(self->invoke(Update{}, {.thread_id = "t"}), sg::ThreadBusyError);
        return bar("done");
    });
    graph.addEdge(sg::START, "again");
    self = graph.compile({.checkpointer = saver});
    CHECK(self->invoke(Update{}, {.thread_id = "t"}).values.bar == Strings{"done"});
}

TEST_CASE("a run whose thread is deleted by one of its nodes is an error that says so, and the thread stays deleted") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("deletes", [&](const State&) -> Update {
        saver->deleteThread("t");
        return bar("1");
    });
    graph.addEdge(sg::START, "deletes");
    const App app = graph.compile({.checkpointer = saver});
    try {
        (void)app.invoke({}, {.thread_id = "t"});
        FAIL("the run has succeeded");
    } catch (const sg::ConcurrentUpdateError& error) {
        CHECK(error.message().find("the thread may have been deleted meanwhile") != std::string::npos);
    }
    CHECK_FALSE(saver->getTuple({.log = {"t"}}).has_value());
}

TEST_CASE("a stream holds its thread until it is walked to the end or dropped") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Log log;
    Graph graph;
    graph.addNode("a", appends(log, "a")).addNode("b", appends(log, "b")).addEdge(sg::START, "a").addEdge("a", "b");
    const App app = graph.compile({.checkpointer = saver});
    {
        auto stream = app.stream(Update{}, {.thread_id = "t"}, {.modes = {sg::StreamMode::updates}});
        CHECK_THROWS_AS(app.invoke(sg::RESUME, {.thread_id = "t"}), sg::ThreadBusyError);
        for (const auto& event : stream) (void)event;
        CHECK_THROWS_AS(app.invoke(sg::Command<>{.resume = 1}, {.thread_id = "t"}),
                        sg::InvalidArgumentError);  // the thread is free again
    }
    {
        auto stream = app.stream(Update{}, {.thread_id = "t"}, {.modes = {sg::StreamMode::updates}});
        CHECK(stream.begin() != stream.end());
    }
    CHECK((app.invoke(sg::RESUME, {.thread_id = "t"}).status == sg::Status::done));
}

TEST_CASE("100 answers to one interrupt at once: one wins, the others get a typed error, and what follows runs once") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Log log;
        Graph graph;
        graph.addNode("ask", asks(log, "ask"))
            .addNode("after", appends(log, "after"))
            .addEdge(sg::START, "ask")
            .addEdge("ask", "after");
        for (const sg::OnBusy on_busy : {sg::OnBusy::reject, sg::OnBusy::wait}) {
            const std::string thread = on_busy == sg::OnBusy::wait ? "wait" : "reject";
            const App app = graph.compile({.checkpointer = saver});
            const auto asked = app.invoke(Update{}, {.thread_id = thread});
            REQUIRE((asked.status == sg::Status::interrupted));
            const sg::TaskId id = asked.interrupts.front().id;
            log.take();
            constexpr int tries = 100;
            std::latch start(8);
            std::atomic<int> won{0};
            std::atomic<int> refused{0};
            std::atomic<int> next{0};
            std::vector<std::thread> workers;
            for (int i = 0; i < 8; ++i) {
                workers.emplace_back([&] {
                    start.arrive_and_wait();
                    for (int n = next++; n < tries; n = next++) {
                        try {
                            app.invoke(sg::Command<>{.answers = {{id, std::to_string(n)}}},
                                       {.thread_id = thread, .on_busy = on_busy});
                            ++won;
                        } catch (const sg::ThreadBusyError&) {
                            ++refused;
                        } catch (const sg::InvalidArgumentError&) {  // the other call has answered it
                            ++refused;
                        }
                    }
                });
            }
            for (auto& worker : workers) worker.join();
            CHECK(won == 1);
            CHECK(refused == tries - 1);
            CHECK(log.count("after") == 1);
            CHECK(app.getState({.thread_id = thread}).values.bar.size() == 2);
        }
    });
}

TEST_CASE("two processes that answer one interrupt: the store lets one of them") {
    class ReadingTogether final : public Door {
    public:
        ReadingTogether(std::shared_ptr<sg::BaseCheckpointSaver> store, std::latch& both)
            : Door(std::move(store)), both_(both) {}
        std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
            auto tuple = Door::getTuple(query);
            both_.arrive_and_wait();  // both read the thread before either writes
            return tuple;
        }

    private:
        std::latch& both_;
    };
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        for (int round = 0; round < 20; ++round) {
            const std::string thread = std::to_string(round);
            Log log;
            Graph graph;
            graph.addNode("ask", asks(log, "ask"))
                .addNode("after", appends(log, "after"))
                .addEdge(sg::START, "ask")
                .addEdge("ask", "after");
            graph.compile({.checkpointer = saver}).invoke(Update{}, {.thread_id = thread});
            log.take();
            std::latch both(2);
            std::atomic<int> won{0};
            std::atomic<int> lost{0};
            std::vector<std::thread> workers;
            for (int i = 0; i < 2; ++i) {
                workers.emplace_back([&, i] {
                    const App app = graph.compile({.checkpointer = std::make_shared<ReadingTogether>(saver, both)});
                    try {
                        app.invoke(sg::Command<>{.resume = std::to_string(i)}, {.thread_id = thread});
                        ++won;
                    } catch (const sg::ConcurrentUpdateError&) {
                        ++lost;
                    }
                });
            }
            for (auto& worker : workers) worker.join();
            CHECK(won == 1);
            CHECK(lost == 1);
            CHECK(log.count("after") == 1);
        }
    });
}
