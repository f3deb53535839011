#include <atomic>
#include <set>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>

#include "tests/async/support.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/savers.hpp"

// Tests the list of drivers: each drives, reports and leaves runs as its kind does.
using namespace graphs;

namespace {

/// START -> a -> {b, c} => ask -> flaky. Coroutines and blocking nodes run at the same time.
Graph mixed(std::atomic<bool>& fails) {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appendsLater("b")).addNode("c", appends("c"));
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
        return bar(sg::interrupt<std::string>(runtime, "what?"));
    });
    graph.addNode("flaky", [&fails](const State&) -> Task<Update> {
        co_await sg::sleepFor(100us);
        if (fails.exchange(false)) throw std::runtime_error("broken");
        co_return bar("end");
    });
    graph.addEdge(sg::START, "a")
        .addEdge("a", "b")
        .addEdge("a", "c")
        .addEdge({"b", "c"}, "ask")
        .addEdge("ask", "flaky");
    return graph;
}

}  // namespace

TEST_CASE("every driver begins, asks, takes the answer, fails, resumes and gives the same values") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::atomic<bool> fails;
    const App app = mixed(fails).compile({.checkpointer = saver});
    std::set<std::string> names;
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const sg::RunConfig config{.thread_id = driver.name};
        fails = true;
        const auto asked = driver.run(app, bar("in"), config);
        REQUIRE(asked.what() == "");
        CHECK((asked.status == sg::Status::interrupted));
        REQUIRE(asked.interrupts.size() == 1);
        CHECK(asked.interrupts[0].value.as<std::string>() == "what?");
        CHECK(asked.values.bar == Strings{"in", "a", "b", "c"});
        const auto failed = driver.run(app, sg::Command<>{.resume = "yes"}, config);
        REQUIRE(failed.as<sg::NodeError>() != nullptr);
        CHECK(failed.as<sg::NodeError>()->reason() == "broken");
        const auto done = driver.run(app, sg::RESUME, config);
        REQUIRE(done.what() == "");
        CHECK((done.status == sg::Status::done));
        CHECK(done.values.bar == Strings{"in", "a", "b", "c", "yes", "end"});
        CHECK(done.config.checkpoint_id == app.getState({.thread_id = driver.name}).config.checkpoint_id);
        CHECK(names.insert(driver.name).second);
    }
    CHECK(names.size() == 36);
}

TEST_CASE("every driver returns values without a saver too, and streams report their events") {
    const App app = chainOf(appends("a"), appendsLater("b")).compile();
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const auto outcome = driver.run(app, {sg::add(&State::bar, "in"), sg::add(&State::n, 3)});
        REQUIRE(outcome.what() == "");
        CHECK(outcome.get().values == State{"", {"in", "a", "b"}, 3});
        CHECK(outcome.events.empty() != contains(driver.name, "tream"));
    }
}

TEST_CASE("a run that is left midway is resumed by every other driver") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = chainOf(appends("a"), appendsLater("b", 50us), appends("c"), appendsLater("d", 50us))
                            .compile({.checkpointer = saver});
        std::size_t left = 0;
        for (const drivers::Driver& driver : drivers::crossed()) {
            if (!driver.canAbandon()) continue;
            for (std::size_t steps = 1; steps < 6; steps += 2) {
                CAPTURE(driver.name);
                CAPTURE(steps);
                const std::string thread = driver.name + std::to_string(steps);
                const bool was_over = driver.abandon(app, bar("in"), {.thread_id = thread}, {.steps = steps});
                left += !was_over;
                const auto done = drivers::blocking().run(app, sg::RESUME, {.thread_id = thread});
                REQUIRE(done.what() == "");
                CHECK(done.values.bar == Strings{"in", "a", "b", "c", "d"});
            }
        }
        CHECK(left > 20);
    });
}

TEST_CASE("a run that waits is left when the test says so, node and all") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        if (!contains(driver.name, "async") || !driver.canAbandon()) continue;
        CAPTURE(driver.name);
        const auto held = std::make_shared<int>(0);
        std::atomic<bool> begun = false;
        Graph graph = chainOf(appends("a"));
        graph.addNode("waits", [&begun, held](const State&) -> Task<Update> {
            const auto mine = held;
            begun = true;
            co_await sg::sleepFor(1h);
            co_return bar("never");
        });
        graph.addEdge("n1", "waits");
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        CHECK_FALSE(driver.abandon(app, bar("in"), {.thread_id = "t"}, {.when = [&] { return begun.load(); }}));
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.values.bar == Strings{"in", "a"});
        CHECK(state.next == Strings{"waits"});
    }
}
