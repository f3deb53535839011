#include <doctest/doctest.h>

#include <stategraph/detail/thread_read.hpp>

#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// A thread that its caller reads before it resumes it: the run begins with what was read, as long as it is current.
using namespace graphs;

namespace {

App asking(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, std::shared_ptr<sg::IdSource> ids = {}) {
    Graph graph;
    graph.addNode("first", [](const State&) -> Update { return {sg::add(&State::bar, std::string("first"))}; });
    graph.addNode("asks", [](const State&, sg::Runtime& rt) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(rt, "k", "?"))};
    });
    graph.addEdge(sg::START, "first").addEdge("first", "asks");
    return graph.compile({.checkpointer = saver, .ids = std::move(ids)});
}

std::shared_ptr<sg::detail::ThreadRead> readOf(const App& app, const sg::ThreadId& thread) {
    return sg::detail::readThread(*app.core(), thread);
}

sg::Result<State> resumeAfter(const App& app, sg::detail::ThreadRead& read, sg::Command<State> command) {
    sg::Result<State> result;
    sg::detail::StateBox<State> box;
    sg::detail::invokeAfter(*app.core(), read, sg::detail::commandOf<State>(std::move(command)), {.thread_id = "t"},
                            result, box.object());
    result.values = std::move(box.state);
    return result;
}

sg::Command<State> answer(const std::string& text) { return {.answers = {{"k", sg::Value(text)}}}; }

}  // namespace

TEST_CASE("a thread that was read has the values and questions of getState, and a run can begin with it") {
    savers::onEach([](savers::Store& store) {
        const App app = asking(store.open());
        CHECK(readOf(app, "t") == nullptr);
        app.invoke(Update{sg::add(&State::bar, std::string("in"))}, {.thread_id = "t"});
        const auto read = readOf(app, "t");
        REQUIRE(read != nullptr);
        const auto snapshot = app.getState({.thread_id = "t"});
        CHECK(read->checkpoint_id == snapshot.config.checkpoint_id);
        CHECK(read->open == snapshot.interrupts());
        CHECK(static_cast<const State*>(read->values)->bar == snapshot.values.bar);
        const auto done = resumeAfter(app, *read, answer("yes"));
        CHECK(done.values.bar == Strings{"in", "first", "yes"});
        CHECK(app.getState({.thread_id = "t"}).values.bar == done.values.bar);
    });
}

TEST_CASE("a run that begins with what was read stores the bytes of a run that reads the thread") {
    const auto rowsOf = [](bool reads_before) {
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = asking(saver, FixedIds::make());
        app.invoke(Update{}, {.thread_id = "t"});
        if (reads_before) {
            (void)resumeAfter(app, *readOf(app, "t"), answer("yes"));
        } else {
            app.invoke(answer("yes"), {.thread_id = "t"});
        }
        Strings rows;
        for (const auto& row : saver->list({.thread_id = "t", .with_writes = true})) {
            rows.emplace_back(row.bytes.view());
            for (const auto& write : row.writes) rows.push_back(write.path + write.bytes);
        }
        return rows;
    };
    CHECK(rowsOf(true) == rowsOf(false));
}

TEST_CASE("a run does not begin with what was read if the thread has changed since") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = asking(saver);
        const auto begin = [&] {
            saver->deleteThread("t");
            app.invoke(Update{}, {.thread_id = "t"});
            auto read = readOf(app, "t");
            REQUIRE(read != nullptr);
            return read;
        };
        auto read = begin();
        app.invoke(answer("other"), {.thread_id = "t"});  // another caller has answered, and its run has ended
        CHECK_THROWS_AS(resumeAfter(app, *read, answer("late")), sg::InvalidArgumentError);
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"first", "other"});

        read = begin();
        CHECK(app.cancelThread("t"));
        CHECK_THROWS_AS(resumeAfter(app, *read, answer("late")), sg::InvalidArgumentError);
        CHECK(app.getState({.thread_id = "t"}).cancelled);

        read = begin();
        app.updateState({.thread_id = "t"}, Update{sg::add(&State::bar, std::string("edit"))}, {.as_node = "asks"});
        CHECK_THROWS_AS(resumeAfter(app, *read, answer("late")), sg::InvalidArgumentError);

        read = begin();
        saver->deleteThread("t");
        app.invoke(Update{sg::add(&State::bar, std::string("new"))}, {.thread_id = "t"});
        CHECK(resumeAfter(app, *read, answer("yes")).values.bar == Strings{"new", "first", "yes"});
    });
}

TEST_CASE("a thread that getState would not show as it is stored is not read for a run") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    SUBCASE("a task of the pending superstep has finished") {
        Graph graph;
        graph.addNode("asks", [](const State&, sg::Runtime& rt) -> Update {
            return {sg::add(&State::bar, sg::interrupt<std::string>(rt, "k", "?"))};
        });
        graph.addNode("ends", [](const State&) -> Update { return {sg::add(&State::bar, std::string("ends"))}; });
        graph.addEdge(sg::START, "asks").addEdge(sg::START, "ends");
        const App app = graph.compile({.checkpointer = saver});
        app.invoke(Update{}, {.thread_id = "t"});
        CHECK(readOf(app, "t") == nullptr);
    }
    SUBCASE("it was cancelled") {
        const App app = asking(saver);
        app.invoke(Update{}, {.thread_id = "t"});
        CHECK(app.cancelThread("t"));
        CHECK(readOf(app, "t") == nullptr);
    }
    SUBCASE("there is no saver") {
        Graph graph;
        graph.addNode("n", [](const State&) -> Update { return {}; }).addEdge(sg::START, "n");
        CHECK_THROWS_AS(readOf(graph.compile(), "t"), sg::MissingCheckpointerError);
    }
}
