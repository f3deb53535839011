#include <stdexcept>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// What an edit does to what was due: tasks are dropped, joins and deferred edges stay, and finished siblings count
// first.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

auto failing(std::string why) {
    return [why](const Line&) -> sg::Update<Line> { throw std::runtime_error(why); };
}

}  // namespace

TEST_CASE("an edit as one of several due tasks drops the others") {
    // quirk 9
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        for (const char* name : {"x", "y"}) {
            graph.addNode(name, saying(name)).addEdge(sg::START, name);
            graph.addNode(std::string("after_") + name, saying(std::string("after_") + name));
            graph.addEdge(name, std::string("after_") + name);
        }
        const LineApp app = graph.compile({.checkpointer = saver, .interrupt_before = {"x"}});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(app.getState(T).next == Words{"x", "y"});
        app.updateState(T, says("edit"), {.as_node = "x"});
        CHECK(app.getState(T).next == Words{"after_x"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "edit", "after_x"});
    });
}

TEST_CASE("an edit as a node that was not due clears what was") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver, .interrupt_before = {"a"}});
        app.invoke(says("i"), {.thread_id = "t"});
        app.updateState(T, says("edit"), {.as_node = "b"});
        CHECK(app.getState(T).next.empty());
    });
}

TEST_CASE("finished siblings of an unfinished superstep count first, unless a checkpoint is named") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("one", saying("one")).addNode("two", failing("two is broken")).addNode("z", saying("z"));
        graph.addEdge(sg::START, "one").addEdge(sg::START, "two").addEdge("two", "z");
        const LineApp app = graph.compile({.checkpointer = saver});
        errorOf<sg::NodeError>([&] { return app.invoke(says("i"), {.thread_id = "t"}); });
        const auto before = app.getState(T);
        app.updateState(T, says("edit"), {.as_node = "two"});
        CHECK(app.getState(T).values.v == Words{"i", "one", "edit"});
        CHECK(app.getState(T).next == Words{"z"});
        CHECK(app.getState(T).parent_config == before.config);

        const auto branch = app.updateState(before.config, says("edit"), {.as_node = "two"});
        CHECK(app.getState(branch).values.v == Words{"i", "edit"});
    });
}

TEST_CASE("a join's progress counts: what finished siblings began, an edit completes") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("one", saying("one")).addNode("two", failing("two is broken")).addNode("z", saying("z"));
        graph.addEdge(sg::START, "one").addEdge(sg::START, "two").addEdge(Words{"one", "two"}, "z");
        const LineApp app = graph.compile({.checkpointer = saver});
        errorOf<sg::NodeError>([&] { return app.invoke(says("i"), {.thread_id = "t"}); });
        app.updateState(T, says("edit"), {.as_node = "two"});
        CHECK(app.getState(T).next == Words{"z"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "one", "edit", "z"});
    });
}

TEST_CASE("partly filled joins survive edits, in the log too") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("a", saying("a")).addNode("b", saying("b")).addNode("c", saying("c")).addNode("z", saying("z"));
        graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c").addEdge(Words{"a", "c"}, "z");
        const LineApp app = graph.compile({.checkpointer = saver, .interrupt_before = {"b"}});
        app.invoke(says("i"), {.thread_id = "t"});
        for (int n = 0; n < 3; ++n) app.updateState(T, says("edit"), {.as_node = "b"});
        CHECK(app.getState(T).next == Words{"c"});
        app.updateState(T, says("c'"), {.as_node = "c"});
        CHECK(app.getState(T).next == Words{"z"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v ==
              Words{"i", "a", "edit", "edit", "edit", "c'", "z"});
    });
}

TEST_CASE("deferred edges survive edits, and are released when nothing else is due") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("a", saying("a")).addNode("b", saying("b")).addNode("c", saying("c"));
        graph.addNode("d", saying("d"), {.defer = true});
        graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c").addEdge("a", "d");
        const LineApp app = graph.compile({.checkpointer = saver, .interrupt_before = {"b"}});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(app.getState(T).next == Words{"b"});
        app.updateState(T, says("b'"), {.as_node = "b"});
        CHECK(app.getState(T).next == Words{"c"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "a", "b'", "c", "d"});
        // An edit that leaves nothing else due releases it immediately.
        app.invoke(says("j"), {.thread_id = "u"});
        app.updateState({.thread_id = "u"}, says("c'"), {.as_node = "c"});
        CHECK(app.getState({.thread_id = "u"}).next == Words{"d"});
    });
}

TEST_CASE("an edit drops the open questions, and an answer then finds none") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("ask", asking("ask")).addNode("z", saying("z")).addEdge(sg::START, "ask").addEdge("ask", "z");
        const LineApp app = graph.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.updateState(T, says("edit"), {.as_node = "ask"});
        CHECK(app.getState(T).interrupts().empty());
        const Bytes before = bytesOf(*saver);
        errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::Command<>{.resume = "x"}, {.thread_id = "t"}); });
        CHECK(bytesOf(*saver) == before);
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "edit", "z"});
        // Before the node, the question comes again.
        app.updateState({.thread_id = "t"}, {}, {.as_node = sg::START});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).interrupts.size() == 1);
    });
}

TEST_CASE("a subgraph that waits is edited through its own config, and continues with it") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph inner;
        inner.addNode("p", saying("p")).addNode("ask", asking("ask")).addEdge(sg::START, "p").addEdge("p", "ask");
        LineGraph outer;
        outer
            .addNode(
                "inner", inner.compile(), [](const Line&) -> sg::Update<Line> { return {}; },
                [](const Line& line) -> sg::Update<Line> { return {sg::add(&Line::v, line.v)}; })
            .addEdge(sg::START, "inner");
        const LineApp app = outer.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const sg::Config log = *app.getState(T).tasks[0].state_config;
        const sg::Config edited = app.updateState(log, says("edit"), {.as_node = "p"});
        CHECK(edited.checkpoint_ns == log.checkpoint_ns);
        CHECK(app.getState(log).config == edited);
        CHECK(app.getState(log).values.v == Words{"p", "edit"});
        CHECK(app.getState(T).values.v == Words{"i"});
        const auto asked = app.invoke(sg::RESUME, {.thread_id = "t"});
        REQUIRE(asked.interrupts.size() == 1);
        CHECK(app.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"}).values.v ==
              Words{"i", "p", "edit", "ask:yes"});
    });
}

TEST_CASE("an edit on a superstep whose writes conflict is refused, at its checkpoint it is not") {
    struct Word {
        std::string word = {};
        static constexpr auto channels() { return sg::channels(sg::channel("word", &Word::word)); }
    };
    onBothSavers([](const SharedSaver& saver) {
        sg::StateGraph<Word> graph;
        for (const char* name : {"x", "y"}) {
            graph.addNode(name, [name](const Word&) -> sg::Update<Word> { return {sg::set(&Word::word, name)}; })
                .addEdge(sg::START, name);
        }
        const auto app = graph.compile({.checkpointer = saver});
        errorOf<sg::InvalidUpdateError>([&] { return app.invoke({sg::set(&Word::word, "i")}, {.thread_id = "t"}); });
        const Bytes before = bytesOf(*saver);
        errorOf<sg::InvalidUpdateError>(
            [&] { return app.updateState(T, {sg::set(&Word::word, "e")}, {.as_node = "x"}); });
        CHECK(bytesOf(*saver) == before);
        const auto head = app.getState(T).config;
        CHECK(app.getState(app.updateState(head, {sg::set(&Word::word, "e")}, {.as_node = "x"})).values.word == "e");
    });
}
