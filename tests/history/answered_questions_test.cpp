#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// A question that is shown as open can be answered; a question that was answered is not shown as open, whatever failed
// afterwards.
namespace sg = stategraph;
using namespace history;

namespace {

/// START → outer(START → ask), where the node of ask fails once it has its answer, if `fails` is set.
LineApp failing(const SharedSaver& saver, const bool& fails, const sg::CompileOptions& inside) {
    LineGraph inner;
    inner.addNode("ask", [&fails](const Line&, sg::Runtime& runtime) -> sg::Update<Line> {
        const auto answer = sg::interrupt<std::string>(runtime, "which?");
        if (fails) throw std::runtime_error("broken");
        return says(answer);
    });
    inner.addEdge(sg::START, "ask");
    LineGraph graph;
    graph.addNode("outer", inner.compile(inside)).addEdge(sg::START, "outer");
    return graph.compile({.checkpointer = saver});
}

}  // namespace

TEST_CASE("a subgraph's question that was answered is not shown as open when what follows failed") {
    for (const bool lives_on : {false, true}) {
        CAPTURE(lives_on);
        onBothSavers([lives_on](const SharedSaver& saver) {
            bool fails = true;
            const LineApp app = failing(
                saver, fails, lives_on ? sg::CompileOptions{.checkpointer = sg::PER_THREAD} : sg::CompileOptions{});
            const sg::RunConfig t{.thread_id = "t"};
            const auto asked = app.invoke(sg::Update<Line>{}, t);
            REQUIRE(asked.interrupts.size() == 1);
            const auto inside = [&] {
                return app.getState({.thread_id = "t"}, {.subgraphs = true}).tasks.at(0).state->interrupts();
            };
            CHECK(inside() == asked.interrupts);

            CHECK_THROWS_AS(app.invoke(sg::Command<Line>{.resume = "this"}, t), sg::NodeError);
            const auto state = app.getState({.thread_id = "t"}, {.subgraphs = true});
            CHECK(state.interrupts().empty());
            CHECK(inside().empty());
            const sg::Config log = state.tasks.at(0).state_config.value();
            CHECK(app.getState<Line>(log).interrupts().empty());
            for (const auto& snapshot : app.getStateHistory<Line>(log)) CHECK(snapshot.interrupts().empty());
            CHECK_THROWS_AS(app.invoke(sg::Command<Line>{.resume = "again"}, t), sg::InvalidArgumentError);

            fails = false;
            CHECK(app.invoke(sg::RESUME, t).values.v.back() == "this");
        });
    }
}
