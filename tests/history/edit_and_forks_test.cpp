#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/door.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// One writer at a time: a commit follows the head that its run saw, or is not made.
namespace sg = stategraph;
using namespace history;

namespace {
const sg::Config T{.thread_id = "t"};
}

TEST_CASE("the head is the newest commit, on whichever branch") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto past = pastOf(app, T);
        const auto edited = app.updateState(past[0].config, says("x"), {.as_node = sg::START});
        CHECK(app.getState(T).config == edited);
        const auto replayed = app.invoke(sg::RESUME, past[2].config);
        CHECK(app.getState(T).config == replayed.config);
        CHECK(app.getState(T).values.v == Words{"i", "a", "b"});
        // Later work continues from there.
        app.updateState(T, says("y"), {.as_node = "b"});
        CHECK(app.getState(T).parent_config == replayed.config);
    });
}

TEST_CASE("a run that began before an edit was made loses, and stores nothing more") {
    for (const sg::Durability durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
        onBothSavers([durability](const SharedSaver& saver) {
            Bytes after_edit;
            std::vector<LineApp> self;
            LineGraph graph;
            graph
                .addNode("a",
                         [&](const Line&) -> sg::Update<Line> {
                             self[1].updateState(T, says("edit"), {.as_node = "b"});
                             after_edit = bytesOf(*saver);
                             return says("a");
                         })
                .addNode("b", saying("b"))
                .addEdge(sg::START, "a")
                .addEdge("a", "b");
            self.push_back(graph.compile({.checkpointer = saver}));
            self.push_back(graph.compile({.checkpointer = std::make_shared<Door>(saver)}));
            const auto said = errorOf<sg::ConcurrentUpdateError>(
                [&] { return self[0].invoke(says("i"), {.thread_id = "t", .durability = durability}); });
            CHECK(mentions(said, {"'t'"}));
            CHECK(bytesOf(*saver) == after_edit);
            CHECK(self[0].getState(T).next.empty());
            CHECK(self[0].getState(T).values.v.back() == "edit");
        });
    }
}

TEST_CASE("parallel tasks of a run that lost store no results either") {
    onBothSavers([](const SharedSaver& saver) {
        Bytes after_edit;
        std::vector<LineApp> self;
        LineGraph graph;
        graph
            .addNode("a",
                     [&](const Line&) -> sg::Update<Line> {
                         self[1].updateState(T, says("edit"), {.as_node = "b"});
                         after_edit = bytesOf(*saver);
                         return says("a");
                     })
            .addNode("b", saying("b"))
            .addEdge(sg::START, "a")
            .addEdge(sg::START, "b");
        self.push_back(graph.compile({.checkpointer = saver}));
        self.push_back(graph.compile({.checkpointer = std::make_shared<Door>(saver)}));
        errorOf<sg::ConcurrentUpdateError>(
            [&] { return self[0].invoke(says("i"), {.thread_id = "t", .max_concurrency = 1}); });
        CHECK(bytesOf(*saver) == after_edit);
    });
}

TEST_CASE("of two edits of one checkpoint both are made: they are branches, not a race") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto past = pastOf(app, T);
        const auto one = app.updateState(past[1].config, says("1"), {.as_node = "a"});
        const auto two = app.updateState(past[1].config, says("2"), {.as_node = "a"});
        CHECK(one.checkpoint_id < two.checkpoint_id);
        CHECK(app.getState(one).parent_config == app.getState(two).parent_config);
        CHECK(app.getState(one).values.v == Words{"i", "1"});
        CHECK(app.getState(two).values.v == Words{"i", "2"});
    });
}
