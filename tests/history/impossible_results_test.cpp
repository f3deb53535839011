#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/fork.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/messages.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Results of finished tasks that no state can hold, and results that edits leave as they are.
using namespace graphs;
using sg::Status;

namespace {

struct Talk {
    std::vector<sg::Message> messages = {};
    std::string word = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Talk::messages, sg::addMessages),
                            sg::channel("word", &Talk::word));
    }
};
using TalkUpdate = sg::Update<Talk>;

}  // namespace

TEST_CASE("a thread with a result that a reducer refuses can be read while another task asks, and be cancelled") {
    savers::onEach([](savers::Store& store) {
        sg::StateGraph<Talk> graph;
        graph.addNode("trim",
                      [](const Talk&) -> TalkUpdate { return {sg::add(&Talk::messages, sg::removeMessage("gone"))}; });
        graph.addNode("ask", [](const Talk&, sg::Runtime& runtime) -> TalkUpdate {
            return {sg::set(&Talk::word, sg::interrupt<std::string>(runtime, "which?"))};
        });
        graph.addEdge(sg::START, "trim").addEdge(sg::START, "ask");
        const auto saver = store.open();
        const auto app = graph.compile({.checkpointer = saver});
        CHECK((app.invoke(TalkUpdate{}, {.thread_id = "t"}).status == Status::interrupted));
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.interrupts().size() == 1);
        REQUIRE(state.tasks.size() == 2);
        for (const auto& task : state.tasks) {
            CAPTURE(task.name);
            CHECK(task.error.has_value() == (task.name == "trim"));
            if (task.error) CHECK(contains(*task.error, "gone"));
        }
        CHECK(app.cancelThread("t"));
        CHECK(app.getState({.thread_id = "t"}).tasks.empty());
        CHECK(saver->unfinishedThreads().empty());
    });
}

TEST_CASE("a thread whose finished results conflict can be cancelled") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode("x", [](const State&) -> Update { return {sg::set(&State::foo, std::string("x"))}; });
        graph.addNode("y", [](const State&) -> Update { return {sg::set(&State::foo, std::string("y"))}; });
        graph.addEdge(sg::START, "x").addEdge(sg::START, "y");
        const auto saver = store.open();
        const App app = graph.compile({.checkpointer = saver});
        CHECK_THROWS_AS(app.invoke(bar("in"), {.thread_id = "t"}), sg::InvalidUpdateError);
        CHECK(app.cancelThread("t"));
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"in"});
        CHECK(app.getState({.thread_id = "t"}).tasks.empty());
        CHECK(saver->unfinishedThreads().empty());
    });
}

TEST_CASE("a bulk edit at a checkpoint whose tasks have run leaves their results") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode("a", appends("a")).addNode("b", appends("b")).addNode("z", appends("z"));
        graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge({"a", "b"}, "z");
        const App app = graph.compile({.checkpointer = store.open()});
        app.invoke(bar("i"), {.thread_id = "t"});
        const auto two = [&] {
            for (const auto& each : app.getStateHistory({.thread_id = "t"})) {
                if (each.next.size() == 2) return each;
            }
            throw std::runtime_error("there is no such checkpoint");
        };
        const auto before = two();
        app.bulkUpdateState(before.config, {{{bar("A"), "a"}, {bar("B"), "b"}}});
        const auto after = two();
        REQUIRE(before.tasks.size() == 2);
        for (std::size_t i = 0; i < 2; ++i) {
            REQUIRE_FALSE(before.tasks[i].result.isNull());
            CHECK(after.tasks[i].result == before.tasks[i].result);
        }
    });
}

TEST_CASE("a fork says that no superstep made its first checkpoint") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b"));
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    const App app = graph.compile({.checkpointer = saver, .interrupt_before = {"b"}});
    app.invoke(bar("i"), {.thread_id = "t"});
    CHECK(app.getState({.thread_id = "t"}).took);
    sg::fork(*saver, {.thread_id = "t"});
    CHECK_FALSE(app.getState({.thread_id = "t"}).took);
}
