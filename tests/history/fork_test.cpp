#include <stdexcept>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// Branches of one thread: they share their past and nothing else.
namespace sg = stategraph;
using namespace history;

TEST_CASE("a hundred forks of one checkpoint write the same channel, and each reads back its own") {
    // quirk 7, quirk 40, quirk 41
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto fork = pastOf(app, {.thread_id = "t"})[1];
        std::vector<sg::Config> edits;
        std::vector<sg::Config> ends;
        for (int n = 0; n < 100; ++n) {
            edits.push_back(app.updateState(fork.config, says(std::to_string(n)), {.as_node = "a"}));
            if (n % 3 == 0) ends.push_back(app.invoke(sg::RESUME, edits.back()).config);
        }
        CHECK(historyOf(app, {.thread_id = "t"}).size() == 4 + 100 + 34);
        for (int n = 0; n < 100; ++n) {
            const auto edit = app.getState(edits[static_cast<std::size_t>(n)]);
            REQUIRE(edit.values.v == Words{"i", std::to_string(n)});
            REQUIRE(edit.parent_config == fork.config);
            REQUIRE(edit.next == Words{"b"});
            REQUIRE((edit.source == sg::Source::update));
            REQUIRE(edit.step == 1);
        }
        for (std::size_t n = 0; n < ends.size(); ++n) {
            REQUIRE(app.getState(ends[n]).values.v == Words{"i", std::to_string(3 * n), "b"});
        }
        CHECK(app.getState(fork.config).values.v == Words{"i"});
        CHECK(app.getState({.thread_id = "t"}).config == ends.back());
    });
}

TEST_CASE("a run continues from the newest edit without another fork, and forks an edit that was continued") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto past = pastOf(app, {.thread_id = "t"});
        const sg::Config edited = app.updateState(past[1].config, says("x"), {.as_node = "a"});
        const Bytes before = commitsOf(*saver);
        CHECK(app.invoke(sg::RESUME, edited).values.v == Words{"i", "x", "b"});
        CHECK(sourcesOf(historyOf(app, {.thread_id = "t"}, {.limit = 3})) == Words{"loop", "update", "loop"});
        // Beside the run before, from a fork of the edit.
        const auto again = app.invoke(sg::RESUME, edited);
        CHECK(again.values.v == Words{"i", "x", "b"});
        const auto fork = app.getState(*app.getState(again.config).parent_config);
        CHECK(fork.parent_config == edited);
        CHECK(sourcesOf(historyOf(app, {.thread_id = "t"}, {.limit = 4})) == Words{"loop", "fork", "loop", "update"});
        CHECK(keeps(commitsOf(*saver), before));
    });
}

TEST_CASE("a fork can be replayed, and its replay's fork too") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b", "c"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        sg::Config config = pastOf(app, {.thread_id = "t"})[1].config;
        for (int depth = 0; depth < 10; ++depth) {
            const Bytes before = commitsOf(*saver);
            const auto result = app.invoke(sg::RESUME, config);
            REQUIRE(result.values.v == Words{"i", "a", "b", "c"});
            REQUIRE(keeps(commitsOf(*saver), before));
            // On from the newest commit at which b is due: at first the run's own, then forks.
            for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
                config = snapshot.config;
                if (snapshot.next == Words{"b"}) break;
            }
            REQUIRE(app.getState(config).values.v == Words{"i", "a"});
        }
    });
}

TEST_CASE("input at a checkpoint branches off there: its parent is that checkpoint, and what was due is dropped") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto past = pastOf(app, {.thread_id = "t"});
        const Bytes before = bytesOf(*saver);
        const auto result = app.invoke(says("j"), past[1].config);
        CHECK(result.values.v == Words{"i", "j", "a", "b"});
        const auto now = pastOf(app, {.thread_id = "t"});
        CHECK((now[4].source == sg::Source::input));
        CHECK(now[4].step == 1);
        CHECK(now[4].parent_config == past[1].config);
        CHECK(keeps(bytesOf(*saver), before));
    });
}

TEST_CASE("what a task of the old branch wrote is not applied on a fork") {
    // fork_does_not_apply_pending_writes
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        const auto broken = std::make_shared<bool>(true);
        graph.addNode("one", saying("one")).addNode("two", [broken](const Line&) -> sg::Update<Line> {
            if (*broken) throw std::runtime_error("broken");
            return says("two");
        });
        const LineApp app = graph.addEdge(sg::START, "one").addEdge(sg::START, "two").compile({.checkpointer = saver});
        errorOf<sg::NodeError>([&] { return app.invoke(says("i"), {.thread_id = "t"}); });
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.values.v == Words{"i", "one"});
        const auto edited = app.updateState(state.config, says("x"), {.as_node = sg::START});
        CHECK(app.getState(edited).values.v == Words{"i", "x"});
        *broken = false;
        CHECK(app.invoke(sg::RESUME, edited).values.v == Words{"i", "x", "one", "two"});
    });
}

TEST_CASE("branches with long pasts keep apart through full snapshots") {
    // quirk 7
    onBothSavers([](const SharedSaver& saver) {
        sg::StateGraph<Line> graph;
        graph
            .addNode("n",
                     [](const Line& line) -> sg::Update<Line> { return says("n" + std::to_string(line.v.size())); })
            .addEdge(sg::START, "n")
            .addConditionalEdges("n", [](const Line& line) { return line.v.size() % 40 != 0 ? "n" : sg::END; });
        const LineApp app = graph.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t", .recursion_limit = 100});
        const auto past = pastOf(app, {.thread_id = "t"});
        std::vector<std::pair<sg::Config, Words>> ends;
        for (std::size_t i = 5; i < past.size(); i += 7) {
            Words expected = past[i].values.v;
            expected.push_back("edit");
            const auto edited = app.updateState(past[i].config, says("edit"), {.as_node = "n"});
            for (int round = 0; round < 3; ++round) {
                const auto result = app.invoke(says("again"), {.thread_id = "t", .recursion_limit = 100});
                expected.push_back("again");
                do expected.push_back("n" + std::to_string(expected.size()));
                while (expected.size() % 40 != 0);
                REQUIRE(result.values.v == expected);
                ends.emplace_back(result.config, expected);
            }
            REQUIRE(app.getState(edited).next.size() <= 1);
        }
        for (const auto& [config, values] : ends) CHECK(app.getState(config).values.v == values);
        for (const auto& snapshot : past) CHECK(app.getState(snapshot.config).values.v == snapshot.values.v);
    });
}
