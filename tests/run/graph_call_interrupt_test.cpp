#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/run/graph_calls.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Questions inside graphs that nodes call.
using namespace graphs;
using namespace std::chrono_literals;
using namespace graph_calls;

TEST_CASE("questions inside a call are the thread's, and an answer resumes inside without repeating what has ended") {
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
