#include <map>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/causes.hpp>
#include <stategraph/fork.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/savers.hpp"

// When the sources of a join arrived, as the log shows it.
namespace sg = stategraph;

namespace {

struct State {
    std::vector<std::string> ran = {};
    static constexpr auto channels() { return sg::channels(sg::channel("ran", &State::ran, sg::append)); }
};
using Update = sg::Update<State>;

auto ran(std::string name) {
    return [name](const State&) -> Update { return {sg::add(&State::ran, name)}; };
}

/// START → quick, slow; slow → slower; quick and slower join at `both`, which starts a second round.
sg::CompiledGraph<State> rounds(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<State> graph;
    graph.addNode("quick", ran("quick"))
        .addNode("slow", ran("slow"))
        .addNode("slower", ran("slower"))
        .addNode("both",
                 [](const State& state) -> sg::Command<State> {
                     sg::Targets to;
                     if (state.ran.size() < 5) {
                         to.add("quick");
                         to.add("slow");
                     }
                     return {.update = Update{sg::add(&State::ran, std::string("both"))}, .go_to = to};
                 },
                 {.ends = std::vector<std::string>{"quick", "slow"}})
        .addEdge(sg::START, "quick")
        .addEdge(sg::START, "slow")
        .addEdge("slow", "slower")
        .addEdge(std::vector<std::string>{"quick", "slower"}, "both");
    return graph.compile({.checkpointer = std::move(saver)});
}

using Steps = std::map<std::string, std::optional<std::int64_t>>;

/// The arrivals of the join that made `both` due at a checkpoint; empty if it is not due there.
Steps arrivalsAt(sg::BaseCheckpointSaver& saver, const sg::Config& config) {
    Steps steps;
    for (const sg::TaskCauses& task : sg::readCauses(saver, config)) {
        if (task.name != "both") continue;
        for (const sg::Cause& cause : task.causes) {
            if (cause.kind != sg::CauseKind::join) continue;
            for (const sg::CauseTask& from : cause.from) steps[from.name] = from.arrived;
        }
    }
    return steps;
}

sg::Config at(const sg::CompiledGraph<State>& app, const std::string& thread, std::int64_t step) {
    for (const auto& each : app.getStateHistory({.thread_id = thread}, {.values = false})) {
        if (each.step == step) return each.config;
    }
    FAIL("there is no such step");
    return {};
}

TEST_CASE("each source of a join has the step at which it arrived, in every round of a loop") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = rounds(saver);
        app.invoke(Update{}, {.thread_id = "t"});
        CHECK(arrivalsAt(*saver, at(app, "t", 2)) == Steps{{"quick", 1}, {"slower", 2}});
        CHECK(arrivalsAt(*saver, at(app, "t", 5)) == Steps{{"quick", 4}, {"slower", 5}});
        CHECK(arrivalsAt(*saver, at(app, "t", 1)).empty());
    });
}

TEST_CASE("a join of a deferred node has the steps at which its sources arrived, not that of its release") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<State> graph;
    graph.addNode("quick", ran("quick"))
        .addNode("also", ran("also"))
        .addNode("slow", ran("slow"))
        .addNode("slower", ran("slower"))
        .addNode("both", ran("both"), {.defer = true})
        .addEdge(sg::START, "quick")
        .addEdge(sg::START, "also")
        .addEdge(sg::START, "slow")
        .addEdge("slow", "slower")
        .addEdge(std::vector<std::string>{"quick", "also"}, "both");
    const auto app = graph.compile({.checkpointer = saver});
    app.invoke(Update{}, {.thread_id = "t"});
    // Before that, slower was still due.
    CHECK(arrivalsAt(*saver, at(app, "t", 1)).empty());
    CHECK(arrivalsAt(*saver, at(app, "t", 2)) == Steps{{"also", 1}, {"quick", 1}});
}

TEST_CASE("a source that arrived many checkpoints ago has its step") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<State> graph;
    graph.addNode("quick", ran("quick"))
        .addNode("loop",
                 [](const State& state) -> sg::Command<State> {
                     return {.update = Update{sg::add(&State::ran, std::string("loop"))},
                             .go_to = {state.ran.size() < 300 ? "loop" : "last"}};
                 },
                 {.ends = std::vector<std::string>{"loop", "last"}})
        .addNode("last", ran("last"))
        .addNode("both", ran("both"))
        .addEdge(sg::START, "quick")
        .addEdge(sg::START, "loop")
        .addEdge(std::vector<std::string>{"quick", "last"}, "both");
    const auto app = graph.compile({.checkpointer = saver});
    app.invoke(Update{}, {.thread_id = "t", .recursion_limit = 400});
    const auto newest = app.getState({.thread_id = "t"});
    CHECK(arrivalsAt(*saver, at(app, "t", newest.step - 1)) == Steps{{"quick", 1}, {"last", newest.step - 1}});
}

TEST_CASE("a source whose arrival was pruned has no step") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = rounds(saver);
        app.invoke(Update{}, {.thread_id = "t"});
        // Only steps 5 and 6 remain.
        REQUIRE(saver->prune({.thread_id = "t", .keep_last = 2}) > 0);
        CHECK(arrivalsAt(*saver, at(app, "t", 5)) == Steps{{"quick", {}}, {"slower", {}}});
    });
}

TEST_CASE("a fork has the steps of the branch that it was forked from") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = rounds(saver);
        app.invoke(Update{}, {.thread_id = "t"});
        const sg::Config forked = sg::fork(*saver, at(app, "t", 2));
        CHECK(arrivalsAt(*saver, forked) == Steps{{"quick", 1}, {"slower", 2}});
        // The run that continues from the fork has its own arrivals.
        app.invoke(sg::RESUME, {.thread_id = "t"});
        const auto newest = app.getState({.thread_id = "t"});
        CHECK(newest.values.ran.size() == 8);
    });
}

}  // namespace
