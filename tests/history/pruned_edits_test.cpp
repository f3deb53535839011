#include <functional>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"
#include "tests/support/meanwhile.hpp"

// Edits of logs that live with the thread, and prunes. pruned_copies_test.cpp does the same with random histories.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};
const sg::Config inside{.thread_id = "t", .checkpoint_ns = "log"};

/// START → a → log → b, where "log" remembers its visits and says what it has.
LineApp rememberer(const SharedSaver& saver) {
    LineGraph inner;
    inner.addNode("visit", saying("visit")).addEdge(sg::START, "visit");
    LineGraph graph;
    graph.addNode("a", saying("a")).addNode("b", saying("b"));
    graph.addNode(
        "log", inner.compile({.checkpointer = sg::PER_THREAD}), [](const Line&) -> sg::Update<Line> { return {}; },
        [](const Line& log) -> sg::Update<Line> {
            std::string all;
            for (const std::string& word : log.v) all += word + " ";
            return says(all);
        });
    graph.addEdge(sg::START, "a").addEdge("a", "log").addEdge("log", "b");
    return graph.compile({.checkpointer = saver});
}

Words remembered(const LineApp& app) { return app.getState<Line>(inside).values.v; }

/// The newest checkpoint at which the node is due.
sg::Config before(const LineApp& app, const std::string& node) {
    for (const auto& snapshot : app.getStateHistory(T, {.values = false})) {
        if (snapshot.next == Words{node}) return snapshot.config;
    }
    FAIL("no such checkpoint");
    return {};
}

template <class F>
void onEachWay(F body) {
    onBothSavers([&](const SharedSaver& saver) {
        for (const auto rewrite : {sg::Rewrite::never, sg::Rewrite::when_it_pays, sg::Rewrite::always}) {
            CAPTURE(static_cast<int>(rewrite));
            saver->deleteThread("t");
            body(rememberer(saver), *saver, sg::PruneRequest{.thread_id = "t", .keep_last = 1, .rewrite = rewrite});
        }
    });
}

}  // namespace

TEST_CASE("an edit of a log that lives with the thread outlives prunes, and the next visit begins with it") {
    onEachWay([](const LineApp& app, sg::BaseCheckpointSaver& saver, const sg::PruneRequest& request) {
        app.invoke(sg::Update<Line>{}, T);
        app.updateState<Line>(inside, says("edit"), {.as_node = "visit"});
        // The root's log goes on, and the edited log does not.
        for (int i = 0; i < 3; ++i) app.updateState(T, says("more"), {.as_node = "b"});
        for (int i = 0; i < 3; ++i) saver.prune(request);
        CHECK(remembered(app) == Words{"visit", "edit"});
        CHECK(app.invoke(sg::Update<Line>{}, T).values.v.end()[-2] == "visit edit visit ");
        // What says where the edit belongs goes, once a visit has continued it.
        saver.prune(request);
        if (request.rewrite != sg::Rewrite::never) CHECK(historyOf(app, T).size() == 1);
        CHECK(remembered(app) == Words{"visit", "edit", "visit"});
    });
}

TEST_CASE("an edit before the first visit outlives prunes") {
    onEachWay([](const LineApp& app, sg::BaseCheckpointSaver& saver, const sg::PruneRequest& request) {
        app.updateState<Line>(inside, says("first"), {.as_node = "visit"});
        app.updateState<Line>(inside, says("second"), {.as_node = "visit"});
        saver.prune(request);
        CHECK(remembered(app) == Words{"first", "second"});
        app.updateState(T, says("more"), {.as_node = "b"});
        saver.prune(request);
        CHECK(remembered(app) == Words{"first", "second"});
        CHECK(app.invoke(sg::Update<Line>{}, T).values.v.end()[-2] == "first second visit ");
    });
}

TEST_CASE("a prune does not show an edit on a branch on which it was not made") {
    onEachWay([](const LineApp& app, sg::BaseCheckpointSaver& saver, const sg::PruneRequest& request) {
        app.invoke(sg::Update<Line>{}, T);
        app.updateState<Line>(inside, says("edit"), {.as_node = "visit"});
        app.updateState(before(app, "b"), says("fork"), {.as_node = "b"});
        CHECK(remembered(app) == Words{"visit"});
        saver.prune(request);
        CHECK(remembered(app) == Words{"visit"});
        CHECK(app.invoke(sg::Update<Line>{}, T).values.v.end()[-2] == "visit visit ");
    });
}

TEST_CASE("of two edits on two branches each kept checkpoint has its own") {
    onEachWay([](const LineApp& app, sg::BaseCheckpointSaver& saver, const sg::PruneRequest& request) {
        app.invoke(sg::Update<Line>{}, T);
        const sg::Config fork = before(app, "b");
        app.updateState<Line>(inside, says("here"), {.as_node = "visit"});
        const sg::Config here = app.updateState(T, says("more"), {.as_node = "b"});
        app.updateState(fork, says("fork"), {.as_node = "b"});
        app.updateState<Line>(inside, says("there"), {.as_node = "visit"});
        const sg::Config there = app.updateState(T, says("more"), {.as_node = "b"});
        sg::PruneRequest two = request;
        two.keep_last = 4;  // "more", "fork", "more", and where "here" was made
        saver.prune(two);
        CHECK(remembered(app) == Words{"visit", "there"});
        app.updateState(here, says("on"), {.as_node = "b"});
        CHECK(remembered(app) == Words{"visit", "here"});
        app.updateState(there, says("on"), {.as_node = "b"});
        CHECK(remembered(app) == Words{"visit", "there"});
    });
}

TEST_CASE("an edit is refused if a prune drops the checkpoint meanwhile to which it belongs") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = rememberer(saver);
        app.invoke(sg::Update<Line>{}, T);
        const auto door = std::make_shared<Meanwhile>(saver);
        const LineApp editing = rememberer(door);
        door->before_put = [&] {
            app.updateState(T, says("more"), {.as_node = "b"});
            app.updateState(T, says("more"), {.as_node = "b"});
            saver->prune({.thread_id = "t", .keep_last = 1, .rewrite = sg::Rewrite::always});
        };
        CHECK_THROWS_AS(editing.updateState<Line>(inside, says("edit"), {.as_node = "visit"}),
                        sg::ConcurrentUpdateError);
        CHECK(remembered(app) == Words{"visit"});
        editing.updateState<Line>(inside, says("edit"), {.as_node = "visit"});
        CHECK(remembered(app) == Words{"visit", "edit"});
    });
}

TEST_CASE("an edit of a log that lives with the thread drops nothing that visits add while it reads") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = rememberer(saver);
        app.invoke(sg::Update<Line>{}, T);
        const auto door = std::make_shared<Meanwhile>(saver);
        const LineApp editing = rememberer(door);
        int reads = 0;
        std::function<void()> visitTwice = [&] {
            app.invoke(sg::Update<Line>{}, T);
            app.invoke(sg::Update<Line>{}, T);
            if (++reads < 3) door->after_read = visitTwice;
        };
        door->after_read = visitTwice;
        editing.updateState<Line>(inside, says("edit"), {.as_node = "visit"});
        CHECK(reads == 3);
        CHECK(remembered(app) == Words{"visit", "visit", "visit", "visit", "visit", "visit", "visit", "edit"});
    });
}
