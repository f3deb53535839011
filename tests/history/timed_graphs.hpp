#pragma once
#include <algorithm>
#include <chrono>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "src/checkpoint/record.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/moved_clock.hpp"
#include "tests/support/recording_saver.hpp"

// Graphs with a clock that the test moves.
namespace timed_graphs {

using namespace graphs;
using namespace std::chrono_literals;

using Us = std::optional<std::chrono::microseconds>;

struct Timed {
    std::shared_ptr<MovedClock> clock = MovedClock::make();
    std::shared_ptr<RecordingSaver> saver = std::make_shared<RecordingSaver>();

    /// Returns a node that takes this many microseconds, and appends its name.
    auto takes(std::int64_t us, std::string name) const {
        return [clock = clock, us, name](const State&) -> Update {
            clock->pass(us);
            return {sg::add(&State::bar, name)};
        };
    }
    /// Makes storing a commit take this long.
    void storingTakes(std::int64_t us) {
        saver->after_put = [clock = clock, us](const sg::PutRequest& request) {
            if (!request.commits.empty()) clock->pass(us);
        };
    }
    App compile(Graph& graph, sg::CompileOptions options = {}) const {
        options.checkpointer = saver;
        options.ids = clock;
        return graph.compile(options);
    }
};

/// Returns the history without values, oldest first.
inline std::vector<sg::StateSnapshot<State>> historyOf(const App& app, const sg::Config& config) {
    std::vector<sg::StateSnapshot<State>> all;
    for (const auto& snapshot : app.getStateHistory(config, {.values = false})) all.push_back(snapshot);
    std::reverse(all.begin(), all.end());
    return all;
}

inline Graph chain(const Timed& timed) {
    Graph graph;
    graph.addNode("a", timed.takes(1500, "a")).addNode("b", timed.takes(700, "b"));
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    return graph;
}

inline Graph fan(const Timed& timed) {
    Graph graph;
    graph.addNode("a", timed.takes(100, "a")).addNode("b", timed.takes(200, "b")).addNode("c", timed.takes(300, "c"));
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge(sg::START, "c");
    return graph;
}

inline const sg::TaskSnapshot& taskNamed(const sg::SnapshotData& snapshot, const std::string& name) {
    const auto found = std::find_if(snapshot.tasks.begin(), snapshot.tasks.end(),
                                    [&](const sg::TaskSnapshot& task) { return task.name == name; });
    REQUIRE(found != snapshot.tasks.end());
    return *found;
}

}  // namespace timed_graphs
