#include <limits>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/unfinished.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// A superstep whose writes no state can have fails in each run. Its thread has failed, also for those who list threads,
// and nobody runs its nodes again unasked.
using namespace graphs;
using sg::Status;

namespace {

struct Sum {
    std::int64_t total = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("total", &Sum::total, sg::sum)); }
};

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

// START → one, two (both write foo).
Graph conflicting(Log& log) {
    Graph graph;
    for (const char* name : {"one", "two"}) {
        graph.addNode(name, [&log, name](const State&) -> Update {
            log.add(name);
            return {sg::set(&State::foo, name)};
        });
        graph.addEdge(sg::START, name);
    }
    return graph;
}

// START → more, which adds to a sum that is at its limit.
sg::StateGraph<Sum> overflowing(Log& log) {
    sg::StateGraph<Sum> graph;
    graph.addNode("more", [&log](const Sum&) -> sg::Update<Sum> {
        log.add("more");
        return {sg::add(&Sum::total, std::int64_t{1})};
    });
    graph.addEdge(sg::START, "more");
    return graph;
}

// START → up, whose Command is for a parent that does not exist.
Graph orphaned(Log& log) {
    Graph graph;
    graph.addNode("up", [&log](const State&) -> sg::Command<State> {
        log.add("up");
        return {.update = {sg::set(&State::foo, "x")}, .graph = sg::PARENT};
    });
    graph.addEdge(sg::START, "up");
    return graph;
}

sg::Update<Sum> input(const sg::CompiledGraph<Sum>&) { return {sg::add(&Sum::total, most)}; }
Update input(const App&) { return {}; }

void checkHasFailed(sg::BaseCheckpointSaver& saver, const std::string& thread, const std::string& word) {
    for (const sg::UnfinishedQuery& query :
         {sg::UnfinishedQuery{.thread_ids = {thread}}, sg::UnfinishedQuery{.reason = Status::failed}}) {
        const auto found = saver.unfinishedThreads(query);
        REQUIRE(found.size() == 1);
        CHECK(found[0].thread_id == thread);
        CHECK(sg::toString(found[0].reason) == sg::toString(Status::failed));
        CHECK_MESSAGE(contains(found[0].error, word), found[0].error);
    }
    CHECK(saver.unfinishedThreads({.reason = Status::in_flight}).empty());
}

template <class Build>
void checkFails(Build build, const std::string& word) {
    savers::onEach([&](savers::Store& store) {
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto saver = store.open();
            Log log;
            const auto app = build(log).compile({.checkpointer = saver});
            const std::string thread = driver.name;
            const auto failed = driver.run(app, input(app), {.thread_id = thread});
            CHECK(failed.template as<sg::InvalidUpdateError>() != nullptr);
            checkHasFailed(*saver, thread, word);
            const std::size_t calls = log.entries().size();
            CHECK(app.recover().empty());
            CHECK(log.entries().size() == calls);
            checkHasFailed(*saver, thread, word);
            // Somebody who resumes it is told the same, and leaves it as it was.
            const auto again = driver.run(app, sg::RESUME, {.thread_id = thread});
            CHECK(again.template as<sg::InvalidUpdateError>() != nullptr);
            checkHasFailed(*saver, thread, word);
            saver->deleteThread(thread);
        }
    });
}

}  // namespace

TEST_CASE("a thread whose tasks wrote two values to one channel has failed, and recover() leaves it alone") {
    checkFails(conflicting, "'foo'");
}

TEST_CASE("a thread whose only task wrote what its reducer refuses has failed, and recover() leaves it alone") {
    checkFails(overflowing, "'total'");
}

TEST_CASE("a thread whose node returned a Command for a parent that does not exist has failed") {
    checkFails(orphaned, "parent");
}

TEST_CASE("a thread that has failed as a whole goes on with new input of a graph that was mended") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Log log;
        const App app = conflicting(log).compile({.checkpointer = saver});
        CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::InvalidUpdateError);
        Graph mended;
        for (const char* name : {"one", "two"}) mended.addNode(name, appends(name)).addEdge(sg::START, name);
        const App other = mended.compile({.checkpointer = saver});
        CHECK((other.invoke(Update{}, {.thread_id = "t"}).status == Status::done));
        CHECK(saver->unfinishedThreads().empty());
        CHECK(other.getState({.thread_id = "t"}).values.bar == Strings{"one", "two"});
    });
}
