#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/meanwhile.hpp"
#include "tests/support/savers.hpp"

// An edit, and another process that adds something to the superstep that waits, between the edit's reading and its
// commit.
using namespace graphs;

namespace {

const sg::Config T{.thread_id = "t"};

/// Two nodes that ask for their names.
App asker(std::shared_ptr<sg::BaseCheckpointSaver> saver, Log& log) {
    Graph graph;
    for (const std::string name : {"x", "y"}) graph.addNode(name, asks(log, name)).addEdge(sg::START, name);
    graph.addNode("end", appends("end"));
    graph.addEdge("x", "end").addEdge("y", "end");
    return graph.compile({.checkpointer = std::move(saver)});
}

sg::Command<> answerOf(const App& app, std::size_t which, const std::string& text) {
    sg::Command<> command;
    command.answers.push_back({app.getState(T).interrupts().at(which).id, sg::Value(text)});
    return command;
}

}  // namespace

TEST_CASE("an edit is refused if a task of the superstep that waits ends meanwhile, and loses nothing") {
    for (const savers::Kind& kind : savers::lastingKinds()) {
        CAPTURE(kind.name);
        const auto store = kind.make();
        const std::shared_ptr<sg::BaseCheckpointSaver> saver = store->open();
        const auto through = std::make_shared<Meanwhile>(saver);
        Log log;
        const App mine = asker(through, log);
        const App other = asker(std::make_shared<Door>(saver), log);
        REQUIRE((other.invoke(bar("in"), {.thread_id = "t"}).status == sg::Status::interrupted));

        through->before_put = [&] { other.invoke(answerOf(other, 0, "1"), {.thread_id = "t"}); };
        CHECK_THROWS_AS(mine.updateState(T, bar("edit"), {.as_node = "y"}), sg::ConcurrentUpdateError);
        CHECK(mine.getState(T).interrupts().size() == 1);
        CHECK(mine.updateState(T, bar("edit"), {.as_node = "y"}).thread_id == "t");
        CHECK((mine.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"in", "x:1", "edit", "end"}));
    }
}

TEST_CASE("an edit is refused if a Command has added to the superstep that waits meanwhile") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto through = std::make_shared<Meanwhile>(saver);
    Log log;
    const App mine = asker(through, log);
    const App other = asker(std::make_shared<Door>(saver), log);
    REQUIRE((other.invoke(bar("in"), {.thread_id = "t"}).status == sg::Status::interrupted));

    through->before_put = [&] { other.invoke(Command{.update = bar("also")}, {.thread_id = "t"}); };
    CHECK_THROWS_AS(mine.updateState(T, bar("edit"), {.as_node = "y"}), sg::ConcurrentUpdateError);
    mine.updateState(T, bar("edit"), {.as_node = "y"});
    CHECK((mine.getState(T).values.bar == Strings{"in", "also", "edit"}));
}
