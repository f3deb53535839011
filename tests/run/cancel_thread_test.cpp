#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/testing/fault_saver.hpp>
#include <stategraph/unfinished.hpp>

#include "tests/support/door.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Cancels threads for good that are suspended, failed, left by a dead process, or in use by a run.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

/// START -> ask -> last. `ask` asks for the text that it appends.
App askingApp(Log& log, std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    Graph graph;
    graph.addNode("ask", asks(log, "ask")).addNode("last", appends(log, "last"));
    graph.addEdge(sg::START, "ask").addEdge("ask", "last");
    return graph.compile({.checkpointer = std::move(saver)});
}

/// START -> work -> last. `work` calls a function that the test supplies.
struct Working {
    std::function<void()> work = [] {};
    Log log;

    App app(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
        Graph graph;
        graph.addNode("work", [this](const State&) -> Update {
            work();
            return bar("work");
        });
        graph.addNode("last", appends(log, "last"));
        graph.addEdge(sg::START, "work").addEdge("work", "last");
        return graph.compile({.checkpointer = std::move(saver)});
    }
};

template <class A>
void checkCancelled(const A& app, const std::string& thread_id) {
    const auto state = app.getState({.thread_id = thread_id});
    CHECK(state.cancelled);
    CHECK(state.next.empty());
    CHECK(state.interrupts().empty());
    CHECK(toJson(state).find("\"cancelled\":true") != std::string::npos);
    CHECK_THROWS_AS(app.invoke(sg::RESUME, {.thread_id = thread_id}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(app.invoke(Command{.resume = "yes"}, {.thread_id = thread_id}), sg::InvalidArgumentError);
}

}  // namespace

TEST_CASE("a suspended thread that is cancelled has nothing due, and nothing of it can be resumed") {
    savers::onEach([](savers::Store& store) {
        Log log;
        {
            const auto saver = store.open();
            const App app = askingApp(log, saver);
            app.invoke(bar("in"), {.thread_id = "t", .metadata = sg::Metadata{{"tenant", "a"}}});
            CHECK_FALSE(app.getState({.thread_id = "t"}).cancelled);
            CHECK(app.cancelThread("t"));
            CHECK_FALSE(app.cancelThread("t"));  // a second cancel does nothing
            CHECK(saver->unfinishedThreads().empty());
            CHECK(app.recover().empty());
        }
        const App other = askingApp(log, store.open());
        checkCancelled(other, "t");
        CHECK(other.getState({.thread_id = "t"}).values.bar == Strings{"in"});
        CHECK(other.getState({.thread_id = "t"}).metadata.at(0).key == "tenant");
        CHECK(log.take() == Strings{"ask"});
    });
}

TEST_CASE("a cancelled thread is revived by input, by an edit, and by a run that names a checkpoint") {
    Log log;
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = askingApp(log, saver);
    app.invoke(bar("in"), {.thread_id = "t"});
    const sg::CheckpointId asked = app.getState({.thread_id = "t"}).config.checkpoint_id;
    REQUIRE(app.cancelThread("t"));
    SUBCASE("input") { app.invoke(bar("again"), {.thread_id = "t"}); }
    SUBCASE("an edit") {
        app.updateState({.thread_id = "t"}, bar("edited"), {.as_node = sg::START});
        app.invoke(sg::RESUME, {.thread_id = "t"});
    }
    SUBCASE("time travel") { app.invoke(sg::RESUME, {.thread_id = "t", .checkpoint_id = asked}); }
    CHECK_FALSE(app.getState({.thread_id = "t"}).cancelled);
    REQUIRE(saver->unfinishedThreads().size() == 1);
    CHECK((app.invoke(Command{.resume = "yes"}, {.thread_id = "t"}).status == sg::Status::done));
    CHECK(log.take() == Strings{"ask", "ask", "ask", "last"});
}

TEST_CASE("a thread on which no run is under way is cancelled by a record alone if nothing but that is wanted") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto saver = store.open();
        const App app = askingApp(log, saver);
        CHECK_FALSE(app.cancelThread("t", {.ends_run = false}));
        app.invoke(bar("in"), {.thread_id = "t"});
        const sg::CheckpointId asked = app.getState({.thread_id = "t"}).config.checkpoint_id;
        CHECK(app.cancelThread("t", {.ends_run = false}));
        CHECK_FALSE(app.cancelThread("t", {.ends_run = false}));
        CHECK((app.getState({.thread_id = "t"}).config.checkpoint_id == asked));
        CHECK(saver->unfinishedThreads().empty());
        checkCancelled(app, "t");
        CHECK(app.cancelThread("t"));  // nothing is due any longer
        checkCancelled(app, "t");
        CHECK((app.invoke(bar("again"), {.thread_id = "t"}).status == sg::Status::interrupted));
        CHECK_FALSE(app.getState({.thread_id = "t"}).cancelled);
    });
}

TEST_CASE("a run that begins is not refused because its thread is cancelled with a record alone at that moment") {
    for (int i = 0; i < 100; ++i) {
        Log log;
        const App app = askingApp(log, std::make_shared<sg::MemorySaver>());
        std::atomic<bool> stop = false;
        auto cancels = std::async(std::launch::async, [&] {
            while (!stop) app.cancelThread("t", {.ends_run = false});
        });
        CHECK_NOTHROW(app.invoke(bar("in"), {.thread_id = "t"}));
        stop = true;
        cancels.get();
    }
}

TEST_CASE("there is nothing to cancel of threads that are unknown or done, and it needs a saver and a thread") {
    Log log;
    const App app = askingApp(log, std::make_shared<sg::MemorySaver>());
    CHECK_FALSE(app.cancelThread("nobody"));
    app.invoke(bar("in"), {.thread_id = "t"});
    app.invoke(Command{.resume = "yes"}, {.thread_id = "t"});
    CHECK_FALSE(app.cancelThread("t"));
    CHECK_FALSE(app.getState({.thread_id = "t"}).cancelled);
    CHECK_THROWS_AS(app.cancelThread(sg::ThreadId()), sg::InvalidArgumentError);
    CHECK_THROWS_AS(askingApp(log, nullptr).cancelThread("t"), sg::MissingCheckpointerError);
}

TEST_CASE("a thread whose node failed is cancelled with what its finished tasks wrote") {
    Log log;
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("good", appends("good"));
    graph.addNode("bad", [](const State&) -> Update { throw std::runtime_error("no"); });
    graph.addEdge(sg::START, "good").addEdge(sg::START, "bad");
    const App app = graph.compile({.checkpointer = saver});
    CHECK_THROWS_AS(app.invoke(bar("in"), {.thread_id = "t"}), sg::NodeError);
    CHECK(app.cancelThread("t"));
    checkCancelled(app, "t");
    CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"in", "good"});
    CHECK(saver->unfinishedThreads().empty());
}

TEST_CASE("a cancel while a node runs is stored at once, in every driver, and the run continues if it is to") {
    for (const auto durability : {sg::Durability::sync, sg::Durability::async}) {
        for (const drivers::Driver& driver : drivers::crossed()) {
            CAPTURE(driver.name);
            Working working;
            const auto saver = std::make_shared<sg::MemorySaver>();
            const App app = working.app(saver);
            const App elsewhere = Working().app(std::make_shared<Door>(saver));
            int seen = 0;
            working.work = [&] {
                CHECK(app.cancelThread("t", {.ends_run = false}));
                checkCancelled(elsewhere, "t");  // what a reader would find if this process died now
                CHECK(saver->unfinishedThreads().empty());
                ++seen;
            };
            const auto outcome = driver.run(app, bar("in"), {.thread_id = "t", .durability = durability});
            REQUIRE(outcome.what() == "");
            CHECK(seen == 1);
            CHECK(outcome.values.bar == Strings{"in", "work", "last"});
            CHECK_FALSE(app.getState({.thread_id = "t"}).cancelled);  // the run had ended before
        }
    }
}

TEST_CASE("a cancel that is stored while a node runs stays if the run is abandoned, fails or asks") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        Working working;
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = working.app(saver);
        std::atomic<bool> cancelled = false;
        working.work = [&] { cancelled = app.cancelThread("t", {.ends_run = false}); };
        SUBCASE("abandoned") {
            if (!driver.canAbandon()) continue;
            if (driver.abandon(app, bar("in"), {.thread_id = "t"}, {.when = [&] { return cancelled.load(); }}))
                continue;
            CHECK(app.getState({.thread_id = "t"}).next.empty());
        }
        SUBCASE("failed") {
            working.work = [&] {
                cancelled = app.cancelThread("t", {.ends_run = false});
                throw std::runtime_error("no");
            };
            CHECK(driver.run(app, bar("in"), {.thread_id = "t"}).failed());
            checkCancelled(app, "t");
        }
        SUBCASE("at a breakpoint") {
            const auto outcome =
                driver.run(app, bar("in"), {.thread_id = "t", .interrupt_before = sg::NodeNames{"last"}});
            CHECK((outcome.status == sg::Status::breakpoint));
            checkCancelled(app, "t");
        }
        CHECK(saver->unfinishedThreads().empty());
    }
}

TEST_CASE("a run that is under way ends before its next superstep, and its cancel is stored while it does") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        Working working;
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = working.app(saver);
        Signal entered;
        working.work = [&] {
            entered.give();
            const auto until = std::chrono::steady_clock::now() + 5min;
            while (!app.getState({.thread_id = "t"}).cancelled && std::chrono::steady_clock::now() < until)
                std::this_thread::sleep_for(1ms);  // sleeps: between two looks
        };
        auto cancels = std::async(std::launch::async, [&] {
            entered.await();
            return app.cancelThread("t", {.busy_timeout = 5min});
        });
        const auto outcome = driver.run(app, bar("in"), {.thread_id = "t"});
        CHECK(cancels.get());
        REQUIRE(outcome.what() == "");
        CHECK((outcome.status == sg::Status::cancelled));
        checkCancelled(app, "t");
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"in", "work"});
        CHECK(working.log.take().empty());
    }
}

TEST_CASE(
    "a caller that does not wait for the run under way learns that the thread is busy, and the run ends nevertheless") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        Working working;
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = working.app(saver);
        working.work = [&] {
            CHECK_THROWS_AS(app.cancelThread("t", {.busy_timeout = 0ms}), sg::ThreadBusyError);
            CHECK(app.getState({.thread_id = "t"}).cancelled);
        };
        const auto outcome = driver.run(app, bar("in"), {.thread_id = "t"});
        REQUIRE(outcome.what() == "");
        CHECK((outcome.status == sg::Status::cancelled));
        checkCancelled(app, "t");
        CHECK(working.log.take().empty());
        // The next run is not ended by it.
        working.work = [] {};
        CHECK((driver.run(app, bar("new"), {.thread_id = "t"}).status == sg::Status::done));
    }
}

TEST_CASE("a cancel that could not be stored ends no run") {
    using sg::testing::FaultSaver;
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        std::size_t refused = 0;
        for (std::size_t fail_at = 1;; ++fail_at) {
            CAPTURE(fail_at);
            Working working;
            const auto saver = std::make_shared<sg::MemorySaver>();
            const auto faults = std::make_shared<FaultSaver>(
                saver, sg::testing::FaultPlan{.fail_at = fail_at, .once = true, .calls = sg::testing::SaverCalls::put});
            const App app = working.app(faults);
            bool failed = false;
            working.work = [&] {
                try {
                    (void)app.cancelThread("t", {.busy_timeout = 0ms});
                } catch (const sg::ThreadBusyError&) {
                } catch (const sg::SaverError&) {
                    failed = true;
                }
            };
            const auto outcome = driver.run(app, bar("in"), {.thread_id = "t"});
            if (failed) {
                ++refused;
                CHECK((outcome.status == sg::Status::done));
                CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"in", "work", "last"});
            }
            if (faults->failures() == 0) break;
        }
        CHECK(refused == 1);
    }
}

TEST_CASE("a run of another process fails at its next commit when its thread is cancelled") {
    Working working;
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = working.app(saver);
    const App elsewhere = Working().app(std::make_shared<Door>(saver));
    working.work = [&] { CHECK(elsewhere.cancelThread("t")); };
    CHECK_THROWS_AS(app.invoke(bar("in"), {.thread_id = "t"}), sg::ConcurrentUpdateError);
    checkCancelled(app, "t");
}

TEST_CASE("a run says of each later checkpoint that it was cancelled, whichever puts of the saver fail") {
    using sg::testing::FaultSaver;
    for (std::size_t fail_at = 1;; ++fail_at) {
        CAPTURE(fail_at);
        Working working;
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto faults = std::make_shared<FaultSaver>(
            saver, sg::testing::FaultPlan{.fail_at = fail_at, .once = true, .calls = sg::testing::SaverCalls::put});
        const App app = working.app(faults);
        bool stored = false;
        working.work = [&] { stored = app.cancelThread("t", {.ends_run = false}); };
        try {
            app.invoke(bar("in"), {.thread_id = "t"});
        } catch (const sg::Error&) {
        }
        const bool is_done = app.getState({.thread_id = "t"}).values.bar.size() == 3;
        if (stored) CHECK((is_done || app.getState({.thread_id = "t"}).cancelled));
        if (faults->failures() == 0) break;
    }
}

TEST_CASE("unfinished threads are found by the metadata that their runs were given") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto saver = store.open();
        const App app = askingApp(log, saver);
        const auto start = [&](const char* thread_id, sg::Metadata metadata) {
            app.invoke(bar("in"), {.thread_id = thread_id, .metadata = std::move(metadata)});
        };
        start("a", {{"tenant", "x"}, {"level", 1}});
        start("b", {{"tenant", "y"}, {"level", 1}});
        start("c", {{"tenant", "x"}, {"level", 2}});
        start("d", {});
        const auto found = [&](const sg::UnfinishedQuery& query) {
            Strings ids;
            for (const auto& thread : saver->unfinishedThreads(query)) ids.push_back(thread.thread_id);
            return ids;
        };
        CHECK(found({}) == Strings{"a", "b", "c", "d"});
        CHECK(found({.metadata = {{"tenant", "x"}}}) == Strings{"a", "c"});
        CHECK(found({.metadata = {{"level", 1}, {"tenant", "x"}}}) == Strings{"a"});
        CHECK(found({.metadata = {{"level", "1"}}}).empty());
        CHECK(found({.reason = sg::Status::failed, .metadata = {{"tenant", "x"}}}).empty());
        CHECK(found({.after_thread_id = "a", .limit = 1, .metadata = {{"tenant", "x"}}}) == Strings{"c"});
        app.cancelThread("a");
        CHECK(found({.metadata = {{"tenant", "x"}}}) == Strings{"c"});
        CHECK_THROWS_AS(found({.metadata = {{"level", 1}, {"level", 2}}}), sg::InvalidArgumentError);
    });
}
